"""Handwritten digits as text, from scikit-learn: 8x8 images, a character a pixel, row by row. The image control.

A pixel has 17 grey levels, written 0-9 and A-G, so a document has 64 characters and a vocabulary of characters
makes 64 tokens of it. The file is read, scikit-learn never imported. No official split: by hash of the text.
"""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path

from normtrial.data.sources.packages import PackagedSource
from normtrial.data.sources.source import Document, split_by_hash

LEVELS = "0123456789ABCDEFG"


def read(folder: Path) -> Iterator[Document]:
    """Sixty-four grey levels and the digit a row."""
    with gzip.open(folder / "digits.csv.gz", "rt", encoding="ascii", newline="") as table:
        for row in csv.reader(table):
            *pixels, label = (int(float(value)) for value in row)
            text = "".join(LEVELS[pixel] for pixel in pixels)
            yield Document(text, split_by_hash(text), str(label))


SOURCE = PackagedSource(
    name="digits",
    kind="classification",
    licence="UCI optical recognition of handwritten digits (Alpaydin & Kaynak 1998): CC BY 4.0. Package: BSD-3.",
    package="scikit-learn",
    version="1.9.1",
    folder="sklearn/datasets/data",
    patterns=("digits.csv.gz",),
    sha256="e60959b0c92db55bf45d86622446bb33486f82ac0beeef9dd074e99200d8c523",
    read=read,
)
