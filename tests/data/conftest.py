"""Real text, prepared once a test session, and a tiny set of our own for everything that must go wrong."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from normtrial.data import catalogue
from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document

BBC = {
    "source": "bbc",
    "batch_size": 16,
    "max_len": 768,
    "tokenizer": "bpe",
    "vocab_size": 1024,
    "limit": None,
    "eval_limit": None,
    "batching": "random",
    "truncate": "head",
}
SOTU = {
    "source": "sotu",
    "batch_size": 16,
    "max_len": 32,
    "tokenizer": "bpe",
    "vocab_size": 512,
    "limit": None,
    "eval_limit": None,
}


@dataclass(frozen=True)
class Toy:
    """A source made of the documents it is given."""

    rows: tuple[Document, ...]
    kind: str = "classification"
    name: str = "toy"
    licence: str = "ours"
    official_test: bool = False

    @property
    def identity(self) -> str:
        return repr((self.kind, self.official_test, self.rows))

    def documents(self, cache: Path) -> Iterator[Document]:
        yield from self.rows


@pytest.fixture(scope="session")
def bbc_config() -> Callable[..., ClassificationConfig]:
    return lambda **changes: ClassificationConfig(**{**BBC, **changes})


@pytest.fixture(scope="session")
def sotu_config() -> Callable[..., LanguageModelConfig]:
    return lambda **changes: LanguageModelConfig(**{**SOTU, **changes})


@pytest.fixture(scope="session")
def bbc(cache: Path, bbc_config: Callable[..., ClassificationConfig]) -> TextData:
    return catalogue.load(bbc_config(), cache)


@pytest.fixture(scope="session")
def sotu(cache: Path, sotu_config: Callable[..., LanguageModelConfig]) -> TextData:
    return catalogue.load(sotu_config(), cache)


@pytest.fixture
def load_toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., TextData]:
    """Load documents of our own: `load_toy(rows, batch_size=2, …)`."""

    def load(
        rows: list[Document], kind: str = "classification", official_test: bool = False, **changes: Any
    ) -> TextData:
        monkeypatch.setitem(catalogue.SOURCES, "toy", Toy(tuple(rows), kind, official_test=official_test))
        values = {
            "source": "toy",
            "batch_size": 1,
            "max_len": 8,
            "tokenizer": "bpe",
            "vocab_size": 300,
            "limit": None,
            "eval_limit": None,
            **changes,
        }
        if kind == "lm":
            return catalogue.load(LanguageModelConfig(**values), tmp_path)
        return catalogue.load(
            ClassificationConfig(**{"batching": "random", "truncate": "head", **values}), tmp_path
        )

    return load
