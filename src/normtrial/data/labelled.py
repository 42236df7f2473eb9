"""Classification: one document an example.

Shapes: B examples, L positions.
"""

from typing import Any

import numpy as np
import torch

from normtrial.data.batch import Batch, Task
from normtrial.data.config import ClassificationConfig
from normtrial.data.dataset import TextData
from normtrial.data.statistics import cross_entropy, length_quantiles, padding_share
from normtrial.data.truncation import kept
from normtrial.data.view import by_length
from normtrial.data.words import Words

BUCKET_BATCHES = 50  # sorted together: enough to find like lengths, few enough to mix well


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
        # One gather; what it reads behind a document's end, padding replaces.
        tokens_BL = arrays["tokens"].take(positions_BL, mode="clip").astype(np.int64)
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
