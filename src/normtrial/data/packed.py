"""Language models: documents joined and cut into windows of one length.

Shapes: B windows, L positions.
"""

from typing import Any

import numpy as np
import torch

from normtrial.data.batch import Batch, Task
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import SPLITS
from normtrial.data.statistics import counts, cross_entropy, length_quantiles
from normtrial.data.view import PLAIN, View
from normtrial.data.words import Words


class PackedWindows(TextData):
    """A window of `max_len` consecutive tokens an example, and the token after each; no padding, so no mask.

    Window i reads tokens i*L .. i*L+L-1 and predicts the next of each; the end, up to L tokens, is left out.
    """

    def _available(self, split: str) -> int:
        return _num_windows(self._arrays[split], self._config.max_len)

    def documents_used(self) -> dict[str, int]:
        """By split, the number of documents that windows touch."""
        last = {split: size * self._config.max_len for split, size in self._sizes.items()}  # the last target
        return {s: int(np.searchsorted(self._arrays[s]["offsets"], last[s], side="right")) for s in SPLITS}

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


def _num_windows(arrays: dict[str, np.ndarray], max_len: int) -> int:
    return max(0, arrays["tokens"].size - 1) // max_len
