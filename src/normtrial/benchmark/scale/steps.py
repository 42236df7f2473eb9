"""Training steps of a language model whose size is given, on made-up tokens."""

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from normtrial.benchmark.overhead import Turn, bare, turns
from normtrial.config import compose
from normtrial.data.config import TextConfig
from normtrial.data.dataset import FACTS
from normtrial.data.packed import PackedWindows
from normtrial.data.sources.source import SPLITS

SMALL = ("data=sotu", "probe=none", "log=file", "train.steps=1000000", "model.num_layers=2")
BATCH_SIZE, MAX_LEN, VOCAB_SIZE = 4, 64, 2048  # where another size is varied
HEAD_WIDTH = 32
BATCHES = 16  # of training, until they come again


def step(folder: Path, stack: ExitStack, *overrides: str) -> Turn:
    """A function that takes the next step of a bare loop: forward, loss, backward, clip, AdamW, a row on disk."""
    usual = (f"data.batch_size={BATCH_SIZE}", f"data.max_len={MAX_LEN}", f"data.vocab_size={VOCAB_SIZE}")
    config = compose(*SMALL, *usual, *overrides)
    return turns(bare(config, folder, made_up(config.data)), 1, stack)


def made_up(config: TextConfig) -> PackedWindows:
    """Random tokens of the configured vocabulary."""
    assert config.vocab_size is not None
    rng = np.random.default_rng(0)
    windows = {"train": BATCHES * config.batch_size, "val": 1, "test": 1}
    arrays = {}
    for split in SPLITS:
        tokens = rng.integers(config.vocab_size, size=windows[split] * config.max_len + 1)
        offsets, labels = np.array([0, len(tokens)]), np.zeros(1, np.int32)
        arrays[split] = {"tokens": tokens, "offsets": offsets, "labels": labels}
    ones = dict.fromkeys(SPLITS, 1)
    meta = dict.fromkeys(FACTS, "made up") | {"pad": 0, "fingerprint": "", "vocab_size": config.vocab_size}
    return PackedWindows(config, meta | {"chars": ones, "bytes": ones}, arrays, Path())
