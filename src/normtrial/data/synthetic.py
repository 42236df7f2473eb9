"""The options of made-up sets: each has its own schema, since what is drawn follows from their values."""

from dataclasses import dataclass

from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.sources.copying import MAX_SYMBOLS, Copy
from normtrial.data.sources.order import MAX_FILLERS, Order
from normtrial.errors import require

MIN_DOCUMENTS = 20  # a tenth is validation, and a tenth test


def _check_source(given: str, name: str) -> None:
    require(given == name, f"data.source {given!r} isn't made of these options: choose it by data={given}.")


def _check_documents(given: int) -> None:
    require(given >= MIN_DOCUMENTS, f"data.num_documents must be at least {MIN_DOCUMENTS}, not {given}.")


@dataclass(kw_only=True, slots=True)
class OrderConfig(ClassificationConfig):
    """Which of two markers comes first."""

    num_documents: int  # of all splits: 8 in 10 train, a tenth validation, a tenth test
    min_words: int  # a document
    max_words: int
    num_fillers: int  # different words around the markers

    def chosen(self) -> Order:
        """The set with these options."""
        _check_source(self.source, Order.name)
        return Order(
            num_documents=self.num_documents,
            min_words=self.min_words,
            max_words=self.max_words,
            num_fillers=self.num_fillers,
        )

    def check(self) -> None:
        """Raise `ConfigError` for what cannot work."""
        ClassificationConfig.check(self)
        _check_documents(self.num_documents)
        require(
            2 <= self.min_words <= self.max_words,
            f"data.min_words={self.min_words} and data.max_words={self.max_words}: two markers need at least 2 "
            "words, and the least may not exceed the most.",
        )
        require(
            1 <= self.num_fillers <= MAX_FILLERS,
            f"data.num_fillers must lie between 1 and {MAX_FILLERS}, not {self.num_fillers}.",
        )


@dataclass(kw_only=True, slots=True)
class CopyConfig(LanguageModelConfig):
    """Random letters, twice."""

    num_documents: int  # of all splits: 8 in 10 train, a tenth validation, a tenth test
    half: int  # letters before they repeat
    num_symbols: int  # different letters

    def chosen(self) -> Copy:
        """The set with these options."""
        _check_source(self.source, Copy.name)
        return Copy(num_documents=self.num_documents, half=self.half, num_symbols=self.num_symbols)

    def check(self) -> None:
        """Raise `ConfigError` for what cannot work."""
        LanguageModelConfig.check(self)
        _check_documents(self.num_documents)
        require(self.half >= 1, f"data.half must be at least 1 letter, not {self.half}.")
        require(
            2 <= self.num_symbols <= MAX_SYMBOLS,
            f"data.num_symbols must lie between 2 and {MAX_SYMBOLS}, not {self.num_symbols}.",
        )
