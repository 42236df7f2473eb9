"""Batches: pure functions of step and seed, every example once, padding only where it is declared."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from normtrial.data import catalogue
from normtrial.data.arrays import read
from normtrial.data.batch import Batch
from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.dataset import TextData
from normtrial.data.tokenizer.vocabulary import EOS, PAD


def same(left: Batch, right: Batch) -> bool:
    return torch.equal(left.tokens_BL, right.tokens_BL) and torch.equal(left.targets, right.targets)


def rows(batch: Batch) -> list[bytes]:
    """The valid tokens of each example, to recognize it."""
    if batch.mask_BL is None:
        return [tokens.numpy().tobytes() for tokens in batch.tokens_BL]
    return [tokens[valid].numpy().tobytes() for tokens, valid in zip(batch.tokens_BL, batch.mask_BL, strict=True)]


def epoch_rows(data: TextData, seed: int, epoch: int = 0) -> list[bytes]:
    first = epoch * data.batches_per_epoch
    return [
        row for step in range(first, first + data.batches_per_epoch) for row in rows(data.train_batch(step, seed))
    ]


def padding(data: TextData, seed: int) -> float:
    masks = [data.train_batch(step, seed).mask_BL for step in range(data.batches_per_epoch)]
    return 1 - sum(int(m.sum()) for m in masks if m is not None) / sum(m.numel() for m in masks if m is not None)


@pytest.mark.parametrize("name", ["bbc", "sotu"])
def test_a_batch_depends_on_step_and_seed_only(name: str, request: pytest.FixtureRequest) -> None:
    data: TextData = request.getfixturevalue(name)
    later = data.batches_per_epoch + 3
    first, far = data.train_batch(5, 7), data.train_batch(later, 7)
    assert same(data.train_batch(5, 7), first)
    assert same(data.train_batch(later, 7), far)
    assert not same(data.train_batch(5, 8), first)
    assert not same(data.train_batch(5 + data.batches_per_epoch, 7), first)


def test_another_process_would_see_the_same(
    bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    again = catalogue.load(bbc_config(), cache)
    assert same(again.train_batch(200, 3), bbc.train_batch(200, 3))
    assert again.info == bbc.info
    assert again.task == bbc.task
    assert again.fingerprint == bbc.fingerprint


def test_padding_is_declared_and_nothing_else(bbc: TextData) -> None:
    batch = bbc.train_batch(0, 0)
    assert batch.mask_BL is not None
    assert batch.mask_BL.any(dim=0).all(), "the longest example fills the batch"
    assert (batch.mask_BL.long().diff(dim=1) <= 0).all(), "padding stands behind the text"
    assert (batch.tokens_BL[~batch.mask_BL] == PAD).all()
    assert (batch.tokens_BL[batch.mask_BL] != PAD).all()
    assert batch.num_tokens == int(batch.mask_BL.sum())
    assert batch.tokens_BL.shape[1] <= 768
    assert batch.targets.shape == (16,)


@pytest.mark.parametrize("batching", ["random", "bucket"])
def test_an_epoch_shows_each_example_once(
    batching: str, bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    data = catalogue.load(bbc_config(batching=batching, max_len=10_000), cache)
    seen = epoch_rows(data, seed=0)
    assert len(seen) == len(set(seen)) == 1515 // 16 * 16
    other = epoch_rows(data, seed=0, epoch=1)
    assert seen != other
    assert len(set(seen) | set(other)) > len(seen), "not always the same examples are left over"


def test_buckets_save_padding_and_info_says_how_much(
    bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    bucket = catalogue.load(bbc_config(batching="bucket"), cache)
    assert padding(bucket, seed=0) == pytest.approx(bucket.info["padding_share"])
    assert padding(bbc, seed=0) == pytest.approx(bbc.info["padding_share"])
    assert bucket.info["padding_share"] < bbc.info["padding_share"] / 5
    widths = [bucket.train_batch(step, 0).tokens_BL.shape[1] for step in range(10)]
    assert widths != sorted(widths), "batches come in mixed order of length"


@pytest.mark.parametrize("name", ["bbc", "sotu"])
def test_evaluation_shows_each_example_once_in_fixed_order(name: str, request: pytest.FixtureRequest) -> None:
    data: TextData = request.getfixturevalue(name)
    seen = [row for batch in data.eval_batches("val") for row in rows(batch)]
    assert len(seen) == data.info["examples"]["val"]
    assert len(set(seen)) == len(seen)
    assert seen == [row for batch in data.eval_batches("val") for row in rows(batch)]


def test_targets_are_the_next_tokens(sotu: TextData, cache: Path) -> None:
    (folder,) = cache.glob("sotu-????????????????")
    _, arrays = read(folder)
    stream = torch.from_numpy(arrays["val"]["tokens"].astype(np.int64))
    batches = list(sotu.eval_batches("val"))
    tokens = torch.cat([batch.tokens_BL for batch in batches]).ravel()
    targets = torch.cat([batch.targets for batch in batches]).ravel()
    assert torch.equal(tokens, stream[: len(tokens)])
    assert torch.equal(targets, stream[1 : len(tokens) + 1])
    assert len(stream) - len(targets) <= 32
    assert int((stream == EOS).sum()) == sotu.info["documents"]["val"]
    assert batches[0].mask_BL is None
    assert batches[0].num_tokens == 16 * 32


def test_windows_of_an_epoch_differ(
    cache: Path, sotu: TextData, sotu_config: Callable[..., LanguageModelConfig]
) -> None:
    small = catalogue.load(sotu_config(limit=64), cache)
    assert small.batches_per_epoch == 4
    seen = epoch_rows(small, seed=1)
    assert len(set(seen)) == 64
    assert sorted(seen) == sorted(epoch_rows(small, seed=1, epoch=1))
    assert small.epoch(6) == 1.5


def test_a_batch_moves_to_a_device(bbc: TextData) -> None:
    moved = bbc.train_batch(0, 0).to("meta")
    assert moved.tokens_BL.device.type == moved.targets.device.type == "meta"
    assert moved.mask_BL is not None
    assert moved.mask_BL.device.type == "meta"
