"""Evaluation as it is asked for: batch sizes, lengths, classes; and what truncation keeps of a document."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
import torch

from normtrial.data.dataset import TextData
from normtrial.data.labelled import LabelledDocuments
from normtrial.data.sources.source import Document
from normtrial.data.truncation import TRUNCATE, kept
from normtrial.data.view import PLAIN, View
from normtrial.data.words import Words


def shown(data: TextData, view: View) -> list[tuple[bytes, int]]:
    """Valid tokens and label of every example."""
    found = []
    for batch in data.eval_batches("val", view):
        assert batch.mask_BL is not None
        rows = zip(batch.tokens_BL, batch.mask_BL, batch.targets.tolist(), strict=True)
        found += [(tokens[valid].numpy().tobytes(), label) for tokens, valid, label in rows]
    return found


def cut(tokens: list[int], max_len: int, how: str) -> list[int]:
    """By hand."""
    if len(tokens) <= max_len:
        return tokens
    front = {"head": max_len, "tail": 0, "both": (max_len + 1) // 2}[how]
    return tokens[:front] + tokens[len(tokens) - (max_len - front) :]


@pytest.mark.parametrize("size", [1, 7, 32])
def test_another_batch_size_shows_the_same_examples_in_the_same_order(size: int, bbc: TextData) -> None:
    sizes = [len(batch.targets) for batch in bbc.eval_batches("val", View(batch_size=size))]
    assert set(sizes[:-1]) == {size}
    assert 0 < sizes[-1] <= size
    assert shown(bbc, View(batch_size=size)) == shown(bbc, PLAIN)


def test_batches_of_one_class_hold_one_and_show_every_example_once(bbc: TextData) -> None:
    batches = list(bbc.eval_batches("val", View(one_class=True)))
    assert all(len(batch.targets.unique()) == 1 for batch in batches)
    assert len({int(batch.targets[0]) for batch in batches}) == 5
    assert sorted(shown(bbc, View(one_class=True))) == sorted(shown(bbc, PLAIN))


def test_longer_and_shorter_documents(bbc: TextData) -> None:
    plain, longer, shorter = (shown(bbc, view) for view in (PLAIN, View(max_len=10_000), View(max_len=5)))
    for one, other, short in zip(plain, longer, shorter, strict=True):
        assert other[0].startswith(one[0])
        assert short[0] == one[0][: 5 * 8]
    assert max(len(tokens) for tokens, _ in longer) > 768 * 8


def test_windows_of_another_length_show_no_more_text(sotu: TextData) -> None:
    plain = torch.cat([batch.tokens_BL for batch in sotu.eval_batches("val")]).ravel()
    for length in (8, 32, 100):
        batches = list(sotu.eval_batches("val", View(max_len=length)))
        tokens = torch.cat([batch.tokens_BL for batch in batches])
        assert tokens.shape == (sotu.eval_size("val", View(max_len=length)), length)
        assert torch.equal(tokens.ravel(), plain[: tokens.numel()])
        assert plain.numel() - tokens.numel() < length
        assert torch.equal(torch.cat([batch.targets for batch in batches])[:, :-1], tokens[:, 1:])


def test_buckets_of_length_hold_every_example_once_the_shortest_first(bbc: TextData) -> None:
    assert isinstance(bbc, LabelledDocuments)
    buckets, lengths = bbc.length_buckets("val", 4), bbc._lengths("val")
    assert sorted(np.concatenate(buckets).tolist()) == list(range(206))
    assert {len(bucket) for bucket in buckets} == {51, 52}
    for short, long in pairwise(buckets):
        assert lengths[short].max() <= lengths[long].min()


def test_words_are_changed_before_a_document_is_cut(bbc: TextData) -> None:
    view = View(words=Words("drop", 0.5, 0))
    assert [label for _, label in shown(bbc, view)] == [label for _, label in shown(bbc, PLAIN)]
    plain, fewer = (sum(len(tokens) for tokens, _ in shown(bbc, v)) for v in (PLAIN, view))
    assert 0.5 * plain < fewer < 0.8 * plain, "half of the words of texts of which many were cut"


@pytest.mark.parametrize("length", [2, 3, 5, 6, 7, 8, 9])
@pytest.mark.parametrize("how", TRUNCATE)
def test_truncation_keeps_what_its_name_says(how: str, length: int) -> None:
    starts, ends = np.array([0, 20, 30]), np.array([8, 21, 36])
    positions, lengths = kept(starts, ends, length, how)
    for start, end, row, size in zip(starts, ends, positions, lengths, strict=True):
        assert row[:size].tolist() == cut(list(range(start, end)), length, how)


@pytest.mark.parametrize("how", TRUNCATE)
def test_truncation_is_the_same_in_training_and_evaluation(how: str, load_toy: Callable[..., TextData]) -> None:
    texts = {"train": "abcdefghi", "val": "jklmnopqr", "test": "stuvwxyz0"}
    rows = [Document(f"{text}{label}", split, label) for split, text in texts.items() for label in "AB"]
    whole, data = load_toy(rows, max_len=100, limit=1), load_toy(rows, max_len=5, limit=1, truncate=how)
    for batches in (lambda d: [d.train_batch(0, 0)], lambda d: list(d.eval_batches("val"))):
        (long,), (short,) = batches(whole), batches(data)
        assert short.tokens_BL[0].tolist() == cut(long.tokens_BL[0].tolist(), 5, how)
        assert torch.equal(short.targets, long.targets)
    (shorter,) = data.eval_batches("val", View(max_len=2))
    assert shorter.tokens_BL[0].tolist() == cut(long.tokens_BL[0].tolist(), 2, how)
