"""Prepared arrays as batches: `TextData`, a pure function of (step, seed) in training, fixed in evaluation.

Nothing here has a position to save: a resumed run and the arms of a comparison see the same batches because
they ask for the same steps. The two kinds are `labelled.LabelledDocuments` and `packed.PackedWindows`.
"""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from normtrial.data.batch import Batch, Task
from normtrial.data.config import TextConfig
from normtrial.data.evaluation import Arrays, EvaluationData
from normtrial.data.sources.source import SPLITS
from normtrial.errors import require

# Of the prepared text, whatever is used of it.
FACTS = ("name", "task", "identity", "licence", "synthetic", "tokenizer", "documents", "dropped", "unknown_share")


class TextData(EvaluationData):
    """Batches of one text set, its `task`, its `info` (plain JSON) and the `fingerprint` of its content."""

    info: dict[str, Any]
    fingerprint: str

    def __init__(self, config: TextConfig, meta: dict[str, Any], arrays: Arrays, folder: Path):
        super().__init__(arrays, folder / "tokenizer.json")
        self._config, self._pad = config, meta["pad"]
        self.fingerprint = meta["fingerprint"]
        self._sizes = {split: self._size(split) for split in SPLITS}
        for split, size in self._sizes.items():
            need = config.batch_size if split == "train" else 1
            require(
                size >= need,
                f"The {split} split of data={meta['name']} has {size} example(s) at "
                f"data.max_len={config.max_len}, but {need} are needed: "
                f"lower data.batch_size or data.max_len.",
            )
        self.batches_per_epoch = self._sizes["train"] // config.batch_size
        self._order_of: tuple[tuple[int, int], np.ndarray] | None = None
        tokens = {split: arrays[split]["tokens"].size for split in SPLITS}
        self._tokens_per = {
            unit: {split: tokens[split] / meta[unit][split] for split in SPLITS} for unit in ("chars", "bytes")
        }
        self.task = self._task(meta)
        self.info = {key: meta[key] for key in FACTS} | {
            "examples": self._sizes,
            "tokens": tokens,
            "vocab_size": self.task.vocab_size,
            **self._facts(),
        }

    def _size(self, split: str) -> int:
        """Examples used of a split: any prefix of it is a fair sample, since its order is that of a hash."""
        limits = [self._config.limit, self._config.eval_limit if split == "val" else None]
        return min([self._available(split), *(limit for limit in limits if limit is not None)])

    def train_batch(self, step: int, seed: int) -> Batch:
        """The batch of that step: every epoch its own permutation, its incomplete last batch dropped."""
        epoch, batch = divmod(step, self.batches_per_epoch)
        if self._order_of is None or self._order_of[0] != (seed, epoch):
            self._order_of = (seed, epoch), self._order(np.random.default_rng([seed, epoch]))
        return self._batch(self._arrays["train"], self._order_of[1][batch], self._config.max_len)

    def documents_used(self) -> dict[str, int]:
        """By split, how many of its documents, the first ones, the examples are taken from."""
        return self._sizes

    def epoch(self, step: int) -> float:
        """How often the training split has been seen after that many steps."""
        return step / self.batches_per_epoch

    def _order(self, rng: np.random.Generator) -> np.ndarray:
        """Example numbers of one epoch, a row a batch."""
        used = self.batches_per_epoch * self._config.batch_size
        return rng.permutation(self._sizes["train"])[:used].reshape(-1, self._config.batch_size)

    @abstractmethod
    def _available(self, split: str) -> int:
        """Examples of a split before `limit`."""

    @abstractmethod
    def _task(self, meta: dict[str, Any]) -> Task: ...

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What `info` says beyond sizes."""
