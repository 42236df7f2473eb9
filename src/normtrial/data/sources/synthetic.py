"""Made-up documents: drawn from a fixed seed, in need of no package; whatever they teach says so (`info`)."""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from normtrial.data.sources.source import Document

SEED = 20261129  # of every draw: another one would be another data set


@dataclass(frozen=True, kw_only=True)
class Synthetic(ABC):
    """A set whose documents follow from its options. A test pins what is drawn."""

    name: str
    kind: str
    licence: str = "Made by normtrial: nobody's text."
    official_test: bool = False
    num_documents: int  # of all splits

    @property
    def identity(self) -> str:
        """The options and the seed."""
        return f"{self!r} from seed {SEED}"

    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document; nothing is read or kept."""
        yield from self._draw(random.Random(SEED))

    @abstractmethod
    def _draw(self, rng: random.Random) -> Iterator[Document]: ...
