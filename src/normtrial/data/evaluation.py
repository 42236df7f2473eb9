"""A split as evaluation shows it: every example once, in fixed order, or under a `View`."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from normtrial.data.batch import Batch, Task
from normtrial.data.config import TextConfig
from normtrial.data.view import PLAIN, View, by_class, in_order
from normtrial.data.words import Reworded, Words, reworded

Arrays = dict[str, dict[str, np.ndarray]]


class EvaluationData(ABC):
    """What evaluation asks of a text set."""

    task: Task
    _config: TextConfig
    _sizes: dict[str, int]
    _tokens_per: dict[str, dict[str, float]]  # by unit and split

    def __init__(self, arrays: Arrays, tokenizer_file: Path):
        self._arrays, self._tokenizer_file = arrays, tokenizer_file
        self._reworded: dict[tuple[str, Words], Reworded] = {}

    def eval_batches(self, split: str, view: View = PLAIN) -> Iterator[Batch]:
        """Every example of a split exactly once, in fixed order; the last batch may be smaller."""
        arrays, max_len = self._shown(split, view), view.max_len or self._config.max_len
        size, batch_size = self.eval_size(split, view), view.batch_size or self._config.batch_size
        batches = by_class(arrays["labels"][:size], batch_size) if view.one_class else in_order(size, batch_size)
        for examples in batches:
            yield self._batch(arrays, examples, max_len)

    def eval_size(self, split: str, view: View = PLAIN) -> int:
        """Examples that are shown of a split."""
        return self._sizes[split]

    def tokens_per(self, unit: str, split: str, view: View = PLAIN) -> float:
        """Tokens by "chars" or "bytes" of the split as it is shown: nats a token become bits a character."""
        words = view.words
        return self._with(split, words).tokens_per[unit] if words else self._tokens_per[unit][split]

    def _shown(self, split: str, view: View) -> dict[str, np.ndarray]:
        return self._with(split, view.words).arrays if view.words else self._arrays[split]

    def _with(self, split: str, words: Words) -> Reworded:
        """The split with its words changed, made on first use."""
        key = split, words
        if key not in self._reworded:
            num_documents = self._num_documents(split, words)
            self._reworded[key] = reworded(self._arrays[split], num_documents, words, self._tokenizer_file)
        return self._reworded[key]

    @abstractmethod
    def _num_documents(self, split: str, words: Words) -> int:
        """The first documents of a split, so many that evaluation sees no others when their words are changed."""

    @abstractmethod
    def _batch(self, arrays: dict[str, np.ndarray], examples: np.ndarray, max_len: int) -> Batch: ...
