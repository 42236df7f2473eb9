"""Numbers about text: what a blind predictor reaches, how long documents are, how much is padding."""

from typing import Any

import numpy as np

PIECE = 2**22  # tokens counted together


def cross_entropy(train_counts: np.ndarray, val_counts: np.ndarray) -> float:
    """Nats an item of validation under the add-one-smoothed frequencies of training.

    >>> round(cross_entropy(np.array([1, 1]), np.array([3, 5])), 4)
    0.6931
    """
    log_probabilities = np.log((train_counts + 1) / (train_counts + 1).sum())
    return float(-(val_counts @ log_probabilities) / val_counts.sum())


def counts(tokens: np.ndarray, vocab_size: int) -> np.ndarray:
    """How often each token occurs; in pieces, since `np.bincount` makes eight bytes of every token.

    >>> counts(np.array([2, 0, 2], np.uint16), 4)
    array([1, 0, 2, 0])
    """
    total = np.zeros(vocab_size, np.int64)
    for start in range(0, len(tokens), PIECE):
        total += np.bincount(tokens[start : start + PIECE], minlength=vocab_size)
    return total


def length_quantiles(lengths: np.ndarray) -> dict[str, int]:
    """Median, 95th percentile and maximum.

    >>> length_quantiles(np.arange(101))
    {'median': 50, 'p95': 95, 'max': 100}
    """
    median, p95, longest = np.quantile(lengths, [0.5, 0.95, 1.0])
    return {"median": round(median), "p95": round(p95), "max": round(longest)}


def padding_share(lengths: np.ndarray, batches: np.ndarray) -> float:
    """Share of padding in batches (one a row of example numbers), each padded to its longest example.

    >>> padding_share(np.array([1, 3, 1, 1]), np.array([[0, 1], [2, 3]]))
    0.25
    """
    rows = lengths[batches]
    return float(1 - rows.sum() / (rows.max(axis=1).sum() * batches.shape[1]))


def unknown_share(tokens: np.ndarray, unk: int | None) -> float:
    """Share of tokens that stand for what the vocabulary cannot spell.

    >>> unknown_share(np.array([5, 2, 7, 2]), 2), unknown_share(np.array([5, 2]), None)
    (0.5, 0.0)
    """
    if unk is None:
        return 0.0
    pieces = np.array_split(tokens, len(tokens) // PIECE + 1)
    return float(sum(np.count_nonzero(piece == unk) for piece in pieces) / len(tokens))


def describe(info: dict[str, Any]) -> str:
    """What a person wants to know of a set, in two lines."""
    examples = " + ".join(f"{info['examples'][split]:,} {split}" for split in ("train", "val", "test"))
    length, dropped = info["length_tokens"], info["dropped"]
    unit = "windows" if info["task"] == "lm" else f"documents in {len(info['classes'])} classes"
    reasons = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in dropped.items() if count)
    packing = (
        "packed without padding"
        if info["task"] == "lm"
        else f"{info['truncated_share']:.1%} truncated, {info['padding_share']:.1%} of a batch is padding"
    )
    title = f"{info['name']} (synthetic)" if info["synthetic"] else info["name"]
    unknown = "".join(
        f", {share:.2%} of {split} unknown" for split, share in info["unknown_share"].items() if share
    )
    return (
        f"{title}: {examples} {unit}, vocabulary {info['vocab_size']:,} ({info['tokenizer'][:15]}){unknown}; "
        f"dropped: {reasons or 'nothing'}\n"
        f"document length in tokens: median {length['median']:,}, 95 % {length['p95']:,}, "
        f"max {length['max']:,}; {packing}"
    )
