"""Which documents stay, and how the text of each is cleaned."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from normtrial.data.sources.source import SPLITS, text_digest


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


def select(documents: Iterable[Any], official_test: bool = False) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Row numbers to keep by split, and how many were dropped for which reason.

    The first of equal texts stays, whatever its split; texts that appear under several labels go altogether.
    An official test split stays as published, so that results compare; what it repeats goes from the others.
    """
    copies: dict[bytes, list[tuple[int, str]]] = defaultdict(list)
    order: list[tuple[str, str]] = []  # split and digest of each row
    dropped: Counter[str] = Counter(empty=0, duplicates=0, conflicting_labels=0)
    for index, row in enumerate(documents):
        order.append((row["split"], text_digest(row["text"])))
        if row["dropped"] or not row["text"]:
            dropped[row["dropped"] or "empty"] += 1
        else:
            copies[duplicate_key(row["text"])].append((index, row["label"]))
    kept: dict[str, list[int]] = {split: [] for split in SPLITS}
    for rows in copies.values():
        published = [index for index, _ in rows if official_test and order[index][0] == "test"]
        if published:
            kept["test"] += published
            dropped["also_in_test"] += len(rows) - len(published)
        elif len({label for _, label in rows}) > 1:
            dropped["conflicting_labels"] += len(rows)
        else:
            dropped["duplicates"] += len(rows) - 1
            first = rows[0][0]
            kept[order[first][0]].append(first)
    return {split: sorted(rows, key=lambda row: order[row][1]) for split, rows in kept.items()}, dict(dropped)
