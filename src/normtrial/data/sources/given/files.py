"""Files: CSV, TSV, JSON lines, Parquet or plain text; one, those that match a pattern, or all of a folder.

A file whose name or folder speaks of train, val or test serves as such (see `splits.role_of`). Plain text is a
document a file; its label is the name of its folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from functools import cached_property, partial
from pathlib import Path

from normtrial.data.sources.given.formats import PLAIN, READERS, rows
from normtrial.data.sources.given.source import Columns, GivenSource, Part
from normtrial.data.sources.given.splits import role_of
from normtrial.data.sources.source import SPLITS
from normtrial.errors import ConfigError, closest, require

Roles = dict[str, list[Path]]


class FilesSource(GivenSource):
    """Documents of a user's files."""

    licence = "Your own files."

    def __init__(
        self,
        name: str,
        kind: str,
        columns: Columns,
        path: str,
        given: dict[str, str],
        encoding: str,
        sample_by: str,
    ):
        super().__init__(name, kind, columns)
        self._path, self._given = path, given
        self._reading = {"encoding": encoding, "sample_by": sample_by}

    def _describe(self) -> str:
        content = [
            (role, self._label(path), sha256(path)) for role, paths in self._roles.items() for path in paths
        ]
        parts = [self.kind, repr(self._columns), self._reading, content]
        return f"{self.name} {hashlib.sha256(json.dumps(parts).encode()).hexdigest()}"

    @cached_property
    def _roles(self) -> Roles:
        return assign(self._path, self._given)

    def _find(self) -> dict[str, list[Part]]:
        parts = {
            role: [Part(str(path), partial(rows, path, **self._reading), self._label(path)) for path in paths]
            for role, paths in self._roles.items()
        }
        labels = {part.label for part in parts["train"]}
        require(
            labels == {None} or len(labels) > 1,
            f"data={self.name}: the label of a plain text is the name of its folder, and all are in one "
            f"({', '.join(map(str, labels))}). For a language model choose data=files_lm.",
        )
        return parts

    def _label(self, path: Path) -> str | None:
        labelled = self.kind == "classification" and path.suffix.lower() == PLAIN
        return path.parent.name if labelled else None


def assign(path: str, given: dict[str, str]) -> Roles:
    """The files of each split: as `given` (patterns below the folder, by split), else as their names say."""
    files = find(path, "data.path")
    if len(files) == 1 and not given:
        return {"train": files}
    place = Path(path).expanduser()
    folder = place if place.is_dir() else Path()
    roles = {
        role: find(str(folder / Path(pattern).expanduser()), f"data.{role}") for role, pattern in given.items()
    }
    taken = {file for some in roles.values() for file in some}
    root = os.path.commonpath([file.parent for file in files])
    nameless = []
    for file in files:
        role = next(filter(None, map(role_of, file.relative_to(root).parts)), None)
        if role is None and file not in taken:
            nameless.append(file)
        elif role is not None and role not in given and file not in taken:
            roles.setdefault(role, []).append(file)
    if "train" not in roles:
        roles["train"], nameless = nameless, []
    require(bool(roles["train"]), f"data.path={path!r} has no file for training; set data.train.")
    require(
        "train" in given or not nameless,
        f"data.path={path!r}: some files name their split (as {roles['train'][0].name}), others none "
        f"({', '.join(file.name for file in nameless[:3])}). Say data.train, or choose by a pattern.",
    )
    _check_one_format([file for some in roles.values() for file in some])
    return {role: roles[role] for role in SPLITS if role in roles}


def find(pattern: str, key: str) -> list[Path]:
    """The files of that path or pattern, in the order of their names; a `ConfigError` where there is none."""
    place = Path(pattern).expanduser()
    if place.is_dir():
        found = [path for path in sorted(place.rglob("*")) if _is_text(path.relative_to(place), path)]
        require(
            bool(found),
            f"{key}={pattern!r}: the folder holds no text ({', '.join(READERS)}){_others(place)}.",
        )
        return found
    if place.is_file():
        found = [place]
    else:
        below = place.relative_to(place.anchor)
        found = sorted(path for path in Path(place.anchor).glob(str(below)) if path.is_file())
    if not found:
        beside = [path.name for path in place.parent.iterdir()] if place.parent.is_dir() else []
        near = closest(place.name, beside)
        hint = f"; did you mean {str(place.parent / near)!r}?" if near else "."
        raise ConfigError(f"{key}={pattern!r}: no such file or folder{hint}")
    for path in found:
        require(
            path.suffix.lower() in READERS,
            f"{key}={pattern!r}: {path.name} is none of {', '.join(READERS)}; its suffix says what a file is.",
        )
    return found


def _is_text(below: Path, path: Path) -> bool:
    hidden = any(part.startswith((".", "_")) for part in below.parts)
    return not hidden and path.suffix.lower() in READERS and path.is_file()


def _others(folder: Path) -> str:
    names = sorted(path.name for path in folder.iterdir())
    return f", only {', '.join(names[:3])}{', …' if len(names) > 3 else ''}" if names else "; it is empty"


def _check_one_format(files: list[Path]) -> None:
    counts = Counter(READERS[path.suffix.lower()].__name__ for path in files)
    if len(counts) > 1:
        suffixes = Counter(path.suffix.lower() for path in files)
        seen = ", ".join(f"{number} {suffix}" for suffix, number in suffixes.most_common())
        raise ConfigError(
            f"data.path holds files of several kinds ({seen}). Choose by a pattern: data.path='folder/*.csv'."
        )


def sha256(path: Path) -> str:
    """Of the content (hex)."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
