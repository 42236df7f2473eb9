"""Which documents stay, and how the text of each is cleaned."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from normtrial.data.sources.source import SPLITS, text_digest

LEFT_OUT = len(SPLITS)  # the split of an empty text, and of one that its source drops


def clean(text: str) -> str:
    """Unix line ends, no NUL, no white space around; nothing else, since models should see real text.

    >>> clean(" one\\r\\ntwo\\0 ")
    'one\\ntwo'
    """
    return text.replace("\r\n", "\n").replace("\0", "").strip()


def duplicate_key(text: str) -> bytes:
    """Equal for texts that differ only in white space and case.

    >>> duplicate_key("Two  words") == duplicate_key("two\\nwords")
    True
    """
    return hashlib.sha256(" ".join(text.split()).casefold().encode()).digest()


def select(documents: Iterable[Any], official_test: bool = False) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Row numbers to keep by split, in the order of their texts' SHA-1; how many were dropped for which reason.

    The first of equal texts stays, whatever its split; texts that appear under several labels go altogether.
    An official test split stays as published, so that results compare; what it repeats goes from the others.
    """
    left_out, key, order, split, label = _digests(documents)
    rows = np.flatnonzero(split != LEFT_OUT)
    _, first, group = np.unique(key[rows], return_index=True, return_inverse=True)  # a group: rows of equal texts
    copies = np.bincount(group)
    published = official_test & (split[rows] == SPLITS.index("test"))
    in_test = np.bincount(group, published).astype(int)
    labels_differ = np.bincount(group, label[rows] != label[rows[first]][group]) > 0
    good = (in_test == 0) & ~labels_differ
    dropped = {
        "empty": 0,
        **left_out,
        "duplicates": int((copies - 1)[good].sum()),
        "conflicting_labels": int(copies[(in_test == 0) & labels_differ].sum()),
    }
    if published.any():
        dropped["also_in_test"] = int((copies - in_test)[in_test > 0].sum())
    published[first[good]] = True
    kept = rows[published]
    kept = kept[np.argsort(order[kept], kind="stable")]
    return {name: kept[split[kept] == index] for index, name in enumerate(SPLITS)}, dropped


def _digests(documents: Iterable[Any]) -> tuple[Counter[str], np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """How many are left out by reason; by row, in 41 bytes a document: key, SHA-1, split or `LEFT_OUT`, label."""
    left_out: Counter[str] = Counter()
    keys, orders, splits, labels = bytearray(), bytearray(), bytearray(), array("i")
    number: dict[str, int] = {}
    for row in documents:
        keys += duplicate_key(row["text"])[:16]  # half a SHA-256: still no accident in 2**64 documents
        orders += bytes.fromhex(text_digest(row["text"]))
        reason = row["dropped"] or ("" if row["text"] else "empty")
        left_out.update([reason] if reason else [])
        splits.append(LEFT_OUT if reason else SPLITS.index(row["split"]))
        labels.append(number.setdefault(row["label"], len(number)))
    types = (keys, "S16"), (orders, "S20"), (splits, np.uint8), (labels, np.int32)
    key, order, split, label = (np.frombuffer(content, kind) for content, kind in types)
    return left_out, key, order, split, label
