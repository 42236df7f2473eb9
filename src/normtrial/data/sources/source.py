"""What a source is, and the rules of splitting.

A source yields `Document`s, each already assigned to its split, and knows an `identity` that changes whenever
its text could. Cleaning, deduplication and tokenization are the same for all and live in `data.prepare`.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

SPLITS = ("train", "val", "test")


class Document(NamedTuple):
    """One text with its split and, for classification, its label."""

    text: str
    split: str
    label: str = ""
    dropped: str = ""  # why the source leaves it out; counted by `data.select`


class Source(Protocol):
    """What `data.prepare` needs to know of a set."""

    @property
    def name(self) -> str:
        """The option's name: `data=<name>`."""
        ...

    @property
    def kind(self) -> str:
        """`classification` or `lm`."""
        ...

    @property
    def licence(self) -> str:
        """One sentence on whose text it is and what for it may be used."""
        ...

    @property
    def identity(self) -> str:
        """Equal identities promise equal documents."""
        ...

    @property
    def official_test(self) -> bool:
        """Whether the test split is a published one: it stays as it is, and copies of its texts leave train."""
        ...

    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document, always in the same order; what a source keeps on disk is below `cache`."""
        ...


def decode(content: bytes) -> str:
    """UTF-8, or Latin-1 where it isn't (one BBC file is); a byte order mark is no text.

    >>> decode("£5".encode("utf-8")) == decode("£5".encode("latin-1")) == "£5"
    True
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def text_digest(text: str) -> str:
    """SHA-1 (hex) of the text with whitespace collapsed: decides split and order, so neither follows files.

    >>> text_digest("a  b\\n") == text_digest("a b")
    True
    """
    return hashlib.sha1(" ".join(text.split()).encode()).hexdigest()


def split_by_hash(text: str) -> str:
    """The split where none is official: 8 hex digits of `text_digest` modulo 10; 0-1 test, 2 val, 3-9 train.

    >>> split_by_hash("We shall nobly save or meanly lose the last best hope of earth.")
    'train'
    """
    bucket = int(text_digest(text)[:8], 16) % 10
    return "test" if bucket <= 1 else "val" if bucket == 2 else "train"


def split_by_index(index: int) -> str:
    """The split of the i-th text of a chronological list: a tenth each to test and val, spread over all eras.

    >>> [split_by_index(index) for index in (0, 1, 5, 10)]
    ['test', 'train', 'val', 'test']
    """
    return {0: "test", 5: "val"}.get(index % 10, "train")


def validation_by_hash(text: str) -> str:
    """The split of a text in an official training file: a tenth becomes validation, by the same hash.

    >>> validation_by_hash("We shall nobly save or meanly lose the last best hope of earth.")
    'train'
    """
    return "val" if int(text_digest(text)[:8], 16) % 10 == 0 else "train"
