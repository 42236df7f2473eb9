"""A language model's copying probe: the second half of each document repeats the first.

The first half is random letters: nothing can foresee them, at ln(num_symbols) nats each. The second can be
foreseen without error by a model that looks back. So the least loss is about half of the unigram's, and what is
missing to it says how well attention copies (by the induction heads of Olsson et al. 2022, 2209.11895).
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase

from normtrial.data.sources.source import Document, split_by_index
from normtrial.data.sources.synthetic import Synthetic

MAX_SYMBOLS = len(ascii_lowercase)


@dataclass(frozen=True, kw_only=True)
class Copy(Synthetic):
    """Random letters, twice."""

    name: str = "copy"
    kind: str = "lm"
    half: int  # letters before they repeat
    num_symbols: int  # different letters

    def _draw(self, rng: random.Random) -> Iterator[Document]:
        for index in range(self.num_documents):
            letters = "".join(rng.choices(ascii_lowercase[: self.num_symbols], k=self.half))
            yield Document(letters + letters, split_by_index(index))
