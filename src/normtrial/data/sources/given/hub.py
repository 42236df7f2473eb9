"""A set of the Hugging Face Hub, or a local folder laid out like its repository.

Downloads and their copies are where `datasets` keeps them (HF_HOME), so that a set you have is not fetched again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from normtrial.data.sources.given.files import sha256
from normtrial.data.sources.given.loading import explained, load
from normtrial.data.sources.given.source import Columns, GivenSource, Part, Row
from normtrial.data.sources.given.splits import role_of
from normtrial.data.sources.packages import digest
from normtrial.data.sources.source import SPLITS
from normtrial.errors import ConfigError, not_one_of, require

COMMIT = re.compile(r"[0-9a-f]{40}")


class HubSource(GivenSource):
    """Documents of a set of the Hub."""

    def __init__(
        self,
        name: str,
        kind: str,
        columns: Columns,
        path: str,
        subset: str | None,
        revision: str | None,
        streaming: bool,
        given: dict[str, str],
    ):
        super().__init__(name, kind, columns)
        self.licence = f"As the card of {path} says."
        self._path, self._subset, self._revision = path, subset, revision
        self._streaming, self._given = streaming, given

    def _describe(self) -> str:
        return f"{self.name} {self._version()} {self._subset} {self._given} {self.kind} {self._columns}"

    def _version(self) -> str:
        """The commit of the repository, or the content of the local folder."""
        folder = Path(self._path)
        if folder.is_dir():
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            return digest((path.relative_to(folder).as_posix(), sha256(path).encode()) for path in files)
        if self._revision and COMMIT.fullmatch(self._revision):
            return self._revision
        import datasets

        with self._explained():
            return datasets.load_dataset_builder(self._path, self._subset, revision=self._revision).hash or ""

    def _find(self) -> dict[str, list[Part]]:
        with self._explained():
            splits = load(self._path, name=self._subset, revision=self._revision, streaming=self._streaming)
        return {role: [self._part(name, splits[name])] for role, name in self._assign(list(splits)).items()}

    @property
    def _what(self) -> str:
        return f"data={self.name}, data.path={self._path!r}"

    def _part(self, name: str, split: Any) -> Part:
        feature = (split.features or {}).get(self._columns.label)
        return Part(f"the split {name}", partial(self._rows, split), names=getattr(feature, "names", None))

    def _rows(self, split: Iterable[Row]) -> Iterator[Row]:
        with explained(self._what):
            yield from split

    def _assign(self, available: list[str]) -> dict[str, str]:
        """The published split that serves as each: as given, else as their names say."""
        roles = dict(self._given)
        for role, name in roles.items():
            if name not in available:
                raise not_one_of(f"data.{role}", name, available, f" as a split of {self._path}")
        for role in SPLITS:
            named = [name for name in available if role_of(name) == role and name not in roles.values()]
            if role in roles or not named:
                continue
            require(
                len(named) == 1,
                f"{self._what} has several splits for {role} ({', '.join(named)}); choose one: data.{role}=…",
            )
            roles[role] = named[0]
        require(
            "train" in roles,
            f"{self._what} has no split called train, only {', '.join(available)}; set data.train.",
        )
        return {role: roles[role] for role in SPLITS if role in roles}

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The library's errors in a line; for an unknown subset, with those that there are."""
        import datasets

        with explained(self._what):
            try:
                yield
            except ValueError as error:
                names = datasets.get_dataset_config_names(self._path, revision=self._revision)
                if self._subset is None and len(names) > 1:
                    raise ConfigError(
                        f"{self._what} has several subsets; set data.name: {', '.join(names)}."
                    ) from error
                if self._subset is not None and self._subset not in names:
                    raise not_one_of("data.name", self._subset, names, f" in {self._path}") from error
                raise
