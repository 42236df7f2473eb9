"""Prepared arrays as batches: `TextData`, a pure function of (step, seed) in training, fixed in evaluation.

Nothing here has a position to save: a resumed run and the arms of a comparison see the same batches because
they ask for the same steps. B examples, L positions.
"""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from normtrial.data.arrays import read
from normtrial.data.batch import Batch, Task
from normtrial.data.config import ClassificationConfig, TextConfig
from normtrial.data.evaluation import Arrays, EvaluationData
from normtrial.data.sources.source import SPLITS
from normtrial.data.statistics import cross_entropy, length_quantiles, padding_share
from normtrial.data.tokenizer import PAD
from normtrial.data.truncation import kept
from normtrial.data.view import PLAIN, View, by_length
from normtrial.data.words import Words
from normtrial.errors import require

BUCKET_BATCHES = 50  # sorted together: enough to find like lengths, few enough to mix well


class TextData(EvaluationData):
    """Batches of one text set, its `task`, its `info` (plain JSON) and the `fingerprint` of its content."""

    info: dict[str, Any]
    fingerprint: str

    def __init__(self, config: TextConfig, meta: dict[str, Any], arrays: Arrays, folder: Path):
        super().__init__(arrays, folder / "tokenizer.json")
        self._config = config
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
        self.task = self._task(meta, {split: tokens[split] / meta["chars"][split] for split in SPLITS})
        self.info = {key: meta[key] for key in ("name", "task", "identity", "licence", "documents", "dropped")} | {
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
    def _task(self, meta: dict[str, Any], tokens_per_char: dict[str, float]) -> Task: ...

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """What `info` says beyond sizes."""


class LabelledDocuments(TextData):
    """One document an example, cut to `max_len` tokens, padded to the longest of its batch."""

    _config: ClassificationConfig

    def _available(self, split: str) -> int:
        return self._arrays[split]["labels"].size

    def _num_documents(self, split: str, words: Words) -> int:
        return self._sizes[split]

    def _lengths(self, split: str) -> np.ndarray:
        """Tokens of each used document before truncation."""
        return np.diff(self._arrays[split]["offsets"])[: self._sizes[split]]

    def length_buckets(self, split: str, num_buckets: int) -> list[np.ndarray]:
        """Evaluated examples by length before truncation, the shortest first, in buckets of equal size."""
        return by_length(self._lengths(split), num_buckets)

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

    def _batch(self, arrays: dict[str, np.ndarray], examples: np.ndarray, max_len: int) -> Batch:
        starts, ends = arrays["offsets"][examples], arrays["offsets"][examples + 1]
        positions_BL, lengths = kept(starts, ends, max_len, self._config.truncate)
        mask_BL = np.arange(positions_BL.shape[1]) < lengths[:, None]
        tokens_BL = arrays["tokens"].take(positions_BL, mode="clip").astype(np.int64)
        tokens_BL[~mask_BL] = PAD
        targets = arrays["labels"][examples].astype(np.int64)
        return Batch(torch.from_numpy(tokens_BL), torch.from_numpy(mask_BL), torch.from_numpy(targets))

    def _class_counts(self, split: str, num_classes: int) -> np.ndarray:
        return np.bincount(self._arrays[split]["labels"][: self._sizes[split]], minlength=num_classes)

    def _task(self, meta: dict[str, Any], tokens_per_char: dict[str, float]) -> Task:
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
            tokens_per_char,
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
        return _num_windows(self._arrays[split], self._config.max_len)

    def _num_documents(self, split: str, words: Words) -> int:
        remaining = 1 - words.share if words.kind == "drop" else 1
        needed = (self._sizes[split] * self._config.max_len + 1) / remaining
        offsets = self._arrays[split]["offsets"]
        return min(len(offsets) - 1, int(np.searchsorted(offsets, needed)) + 1)  # one more, for shares vary

    def eval_size(self, split: str, view: View = PLAIN) -> int:
        """Windows of a split; where they have another length, so many that they hold no more tokens."""
        max_len = view.max_len or self._config.max_len
        wanted = max(1, self._sizes[split] * self._config.max_len // max_len)
        return min(wanted, _num_windows(self._shown(split, view), max_len))

    def _batch(self, arrays: dict[str, np.ndarray], examples: np.ndarray, max_len: int) -> Batch:
        positions = examples[:, None] * max_len + np.arange(max_len + 1)
        tokens = torch.from_numpy(arrays["tokens"][positions].astype(np.int64))
        return Batch(tokens[:, :-1].contiguous(), None, tokens[:, 1:].contiguous())

    def _task(self, meta: dict[str, Any], tokens_per_char: dict[str, float]) -> Task:
        vocab_size = meta["vocab_size"]
        train, val = (
            np.bincount(
                self._arrays[split]["tokens"][1 : self._sizes[split] * self._config.max_len + 1],
                minlength=vocab_size,
            )
            for split in ("train", "val")
        )
        return Task("lm", vocab_size, vocab_size, (), cross_entropy(train, val), None, tokens_per_char)

    def _facts(self) -> dict[str, Any]:
        lengths = np.diff(self._arrays["train"]["offsets"])
        return {"length_tokens": length_quantiles(lengths), "truncated_share": 0.0, "padding_share": 0.0}


def _num_windows(arrays: dict[str, np.ndarray], max_len: int) -> int:
    return max(0, arrays["tokens"].size - 1) // max_len


KINDS = {"classification": LabelledDocuments, "lm": PackedWindows}


def open_data(folder: Path, config: TextConfig) -> TextData:
    """The batches of a prepared folder."""
    meta, arrays = read(folder)
    return KINDS[config.kind](config, meta, arrays, folder)
