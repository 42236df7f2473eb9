"""The `data` group: names, meanings and checks. Values and their reasons are in `conf/data/*.yaml`."""

from dataclasses import dataclass
from typing import ClassVar

from normtrial.data import catalogue
from normtrial.data.sources import sotu_era
from normtrial.data.sources.source import Source
from normtrial.data.tokenizer import catalogue as tokenizers
from normtrial.data.truncation import TRUNCATE
from normtrial.errors import not_one_of, require

BATCHING = ("random", "bucket")


@dataclass(kw_only=True, slots=True)
class TextConfig:
    """What every text set has."""

    kind: ClassVar[str]
    source: str  # a name in data.catalogue.SOURCES
    batch_size: int  # examples: documents, or windows of a language model
    max_len: int  # tokens an example; longer documents are cut
    tokenizer: str  # a kind in data.tokenizer.catalogue.KINDS, or the path of a tokenizer.json
    vocab_size: int | None  # tokens at most; null: as many as there are, of byte, char, word and files only
    limit: int | None  # examples at most in each split, for quick looks; null uses all
    eval_limit: int | None  # validation examples at most at each evaluation; test is always whole; null uses all

    def chosen(self) -> Source:
        """The source of the text."""
        return catalogue.find(self.source, self.kind)

    def check(self) -> None:
        """Raise `ConfigError` for what cannot work."""
        self.chosen()
        require(self.batch_size >= 1, f"data.batch_size must be at least 1 example, not {self.batch_size}.")
        require(self.max_len >= 2, f"data.max_len must be at least 2 tokens, not {self.max_len}.")
        tokenizers.check(self.tokenizer, self.vocab_size)
        for name in ("limit", "eval_limit"):
            value = getattr(self, name)
            require(
                value is None or value >= 1,
                f"data.{name} must be at least 1 example, or null for all of them, not {value}.",
            )
        require(
            self.limit is None or self.limit >= self.batch_size,
            f"data.limit={self.limit} is less than one batch of data.batch_size={self.batch_size}: "
            f"raise the limit or shrink the batch.",
        )


@dataclass(kw_only=True, slots=True)
class ClassificationConfig(TextConfig):
    """One label a document; padded to the longest of the batch."""

    kind: ClassVar[str] = "classification"
    batching: str  # random, or bucket: documents of like length together, which saves padding
    truncate: str  # what stays of a document longer than max_len: head, tail, or both (half of it from each end)

    def check(self) -> None:
        """Raise `ConfigError` for what cannot work."""
        TextConfig.check(self)  # bare super() is broken in slotted dataclasses before Python 3.14
        if self.batching not in BATCHING:
            raise not_one_of("data.batching", self.batching, BATCHING)
        if self.truncate not in TRUNCATE:
            raise not_one_of("data.truncate", self.truncate, TRUNCATE)


@dataclass(kw_only=True, slots=True)
class WindowsConfig(ClassificationConfig):
    """Texts cut into windows of equal length, each with the label of its text."""

    window_words: int  # words a window

    def chosen(self) -> Source:
        """The source, cut."""
        require(
            self.source == "sotu_era",
            f"data.source {self.source!r} isn't cut into windows: choose it by data={self.source}.",
        )
        return sotu_era.windows(self.window_words)

    def check(self) -> None:
        """Raise `ConfigError` for what cannot work."""
        ClassificationConfig.check(self)
        require(self.window_words >= 1, f"data.window_words must be at least 1 word, not {self.window_words}.")


@dataclass(kw_only=True, slots=True)
class LanguageModelConfig(TextConfig):
    """The next token everywhere; documents are joined and cut into windows without padding."""

    kind: ClassVar[str] = "lm"
