"""Which of four eras a stretch of a State of the Union address is from: the same text and labels at any length.

An address is cut into windows of `data.window_words` words; a rest of less than half a window is left out. All
windows of an address are in one split (hash of its file name), or neighbours would give each other away.
"""

import csv
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from normtrial.data.sources.packages import PackagedSource
from normtrial.data.sources.sotu import SOURCE as SOTU
from normtrial.data.sources.source import Document, decode, split_by_hash
from normtrial.errors import ConfigError

ERAS = {1850: "1790-1849", 1900: "1850-1899", 1950: "1900-1949", 9999: "1950-2026"}  # by the year that ends each


def read(folder: Path, words: int | None) -> Iterator[Document]:
    """Windows by address, by position."""
    if words is None:
        raise ConfigError("data.source 'sotu_era' needs data.window_words: choose it by data=sotu_era.")
    for name, year, text in addresses(folder):
        era = next(label for end, label in ERAS.items() if year < end)
        for window in cut(text.split(), words):
            yield Document(" ".join(window), split_by_hash(name), era)


def addresses(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Name, year and text of each address."""
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            content = (folder / "speeches" / f"{row['fileid']}.txt").read_bytes()
            yield row["fileid"], int(row["year"]), decode(content)


def cut(words: list[str], length: int) -> Iterator[list[str]]:
    """Consecutive windows; the last may be shorter, by less than half.

    >>> [len(window) for length in (4, 5) for window in cut(list("abcdefghij"), length)]
    [4, 4, 2, 5, 5]
    """
    for start in range(0, len(words), length):
        window = words[start : start + length]
        if 2 * len(window) >= length:
            yield window


def windows(words: int | None) -> PackagedSource:
    """The set at that length of windows; without one it can be found and fetched, not read."""
    return replace(
        SOTU,
        name="sotu_era",
        kind="classification",
        variant=f"in windows of {words} words",
        read=partial(read, words=words),
    )


SOURCE = windows(None)
