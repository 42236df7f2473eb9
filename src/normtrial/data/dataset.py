"""Prepared arrays as batches: `TextData`, a pure function of (step, seed) in training, fixed in evaluation.

Nothing here has a position to save: a resumed run and the arms of a comparison see the same batches because
they ask for the same steps. B examples, L positions.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from normtrial.data import baseline
from normtrial.data.arrays import read
from normtrial.data.batch import Batch, Task
from normtrial.data.config import ClassificationConfig, TextConfig
from normtrial.data.sources.source import SPLITS
from normtrial.data.statistics import counts, cross_entropy, length_quantiles, padding_share
from normtrial.errors import require

BUCKET_BATCHES = 50  # sorted together: enough to find like lengths, few enough to mix well

# Of the prepared text, whatever is used of it.
FACTS = ("name", "task", "identity", "licence", "synthetic", "tokenizer", "documents", "dropped", "unknown_share")

Arrays = dict[str, dict[str, np.ndarray]]


class TextData(ABC):
    """Batches of one text set, its `task`, its `info` (plain JSON) and the `fingerprint` of its content."""

    task: Task
    info: dict[str, Any]
    fingerprint: str

    def __init__(self, config: TextConfig, meta: dict[str, Any], arrays: Arrays):
        self._config, self._arrays, self._pad = config, arrays, meta["pad"]
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
        return self._batch("train", self._order_of[1][batch])

    def eval_batches(self, split: str) -> Iterator[Batch]:
        """Every example of a split exactly once, in fixed order; the last batch may be smaller."""
        size = self._sizes[split]
        for start in range(0, size, self._config.batch_size):
            yield self._batch(split, np.arange(start, min(start + self._config.batch_size, size)))

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
    def _batch(self, split: str, examples: np.ndarray) -> Batch: ...

    @abstractmethod
    def _task(self, meta: dict[str, Any]) -> Task: ...

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What `info` says beyond sizes."""


class LabelledDocuments(TextData):
    """One document an example, cut behind `max_len` tokens, padded to the longest of its batch."""

    _config: ClassificationConfig

    def _available(self, split: str) -> int:
        return self._arrays[split]["labels"].size

    def _lengths(self, split: str) -> np.ndarray:
        """Tokens of each used document before truncation."""
        return np.diff(self._arrays[split]["offsets"])[: self._sizes[split]]

    def _order(self, rng: np.random.Generator) -> np.ndarray:
        order = super()._order(rng)
        if self._config.batching == "random":
            return order
        lengths = np.minimum(self._lengths("train"), self._config.max_len)
        chunks = [
            chunk.ravel()[np.argsort(lengths[chunk.ravel()], kind="stable")].reshape(chunk.shape)
            for chunk in np.split(order, range(BUCKET_BATCHES, len(order), BUCKET_BATCHES))
        ]
        return rng.permutation(np.concatenate(chunks))  # rows, that is batches, not examples

    def _batch(self, split: str, examples: np.ndarray) -> Batch:
        arrays = self._arrays[split]
        starts = arrays["offsets"][examples]
        lengths = np.minimum(arrays["offsets"][examples + 1] - starts, self._config.max_len)
        columns = np.arange(lengths.max())
        mask_BL = columns < lengths[:, None]
        # One gather; what it reads behind a document's end, padding replaces.
        tokens_BL = arrays["tokens"].take(starts[:, None] + columns, mode="clip").astype(np.int64)
        tokens_BL[~mask_BL] = self._pad
        targets = arrays["labels"][examples].astype(np.int64)
        return Batch(torch.from_numpy(tokens_BL), torch.from_numpy(mask_BL), torch.from_numpy(targets))

    def _class_counts(self, split: str, num_classes: int) -> np.ndarray:
        return np.bincount(self._arrays[split]["labels"][: self._sizes[split]], minlength=num_classes)

    def _task(self, meta: dict[str, Any]) -> Task:
        labels = tuple(meta["labels"])
        train, val = (self._class_counts(split, len(labels)) for split in ("train", "val"))
        accuracy = float(val[train.argmax()] / val.sum())
        return Task(
            "classification",
            len(labels),
            meta["vocab_size"],
            labels,
            cross_entropy(train, val),
            accuracy,
            self._tokens_per["chars"],
            self._tokens_per["bytes"],
        )

    def _facts(self) -> dict[str, Any]:
        counts = self._class_counts("train", self.task.num_outputs)
        batches = self._order(np.random.default_rng([0, 0]))
        lengths = self._lengths("train")
        return {
            "length_tokens": length_quantiles(lengths),
            "truncated_share": float((lengths > self._config.max_len).mean()),
            "padding_share": padding_share(np.minimum(lengths, self._config.max_len), batches),
            "classes": dict(zip(self.task.labels, counts.tolist(), strict=True)),
        }


class PackedWindows(TextData):
    """A window of `max_len` consecutive tokens an example, and the token after each; no padding, so no mask.

    Window i reads tokens i*L .. i*L+L-1 and predicts the next of each; the end, up to L tokens, is left out.
    """

    def _available(self, split: str) -> int:
        return max(0, self._arrays[split]["tokens"].size - 1) // self._config.max_len

    def documents_used(self) -> dict[str, int]:
        """By split, the number of documents that windows touch."""
        last = {split: size * self._config.max_len for split, size in self._sizes.items()}  # the last target
        return {s: int(np.searchsorted(self._arrays[s]["offsets"], last[s], side="right")) for s in SPLITS}

    def _batch(self, split: str, examples: np.ndarray) -> Batch:
        positions = examples[:, None] * self._config.max_len + np.arange(self._config.max_len + 1)
        tokens = torch.from_numpy(self._arrays[split]["tokens"][positions].astype(np.int64))
        return Batch(tokens[:, :-1].contiguous(), None, tokens[:, 1:].contiguous())

    def _task(self, meta: dict[str, Any]) -> Task:
        vocab_size = meta["vocab_size"]
        train, val = (
            counts(self._arrays[split]["tokens"][1 : self._sizes[split] * self._config.max_len + 1], vocab_size)
            for split in ("train", "val")
        )
        return Task(
            "lm",
            vocab_size,
            vocab_size,
            (),
            cross_entropy(train, val),
            None,
            self._tokens_per["chars"],
            self._tokens_per["bytes"],
        )

    def _facts(self) -> dict[str, Any]:
        lengths = np.diff(self._arrays["train"]["offsets"])
        return {"length_tokens": length_quantiles(lengths), "truncated_share": 0.0, "padding_share": 0.0}


KINDS = {"classification": LabelledDocuments, "lm": PackedWindows}


def open_data(folder: Path, config: TextConfig) -> TextData:
    """The batches of a prepared folder."""
    meta, arrays = read(folder)
    data = KINDS[config.kind](config, meta, arrays)
    if found := baseline.known(folder, data.documents_used()):
        data.info["baseline"] = found
    return data
