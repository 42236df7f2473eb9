"""What files and sets of the Hub share: parts of rows become documents, each in its split.

A part is a file or a published split. Parts that serve as `test` stay as they are; a test part without labels is
left out (its rows are counted as `without_label`), and what is missing then is cut from `train`.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any

from normtrial.data.sources.given.cells import label_in, text_in
from normtrial.data.sources.given.classes import learnable
from normtrial.data.sources.given.splits import cut
from normtrial.data.sources.source import SPLITS, Document
from normtrial.errors import not_one_of

Row = dict[str, Any]
Cell = tuple[str, str, str]  # text, label, reason to leave it out
UNLABELLED = "unlabelled"
FIRST = 10  # rows that are looked at before a column is said to be missing: a line of JSON may leave one out


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What is read of each row, and how many."""

    text: str
    label: str | None  # None for a language model
    document_start: str | None = None  # language models: rows from one that matches to the next are one document
    max_documents: int | None = None  # of each split


@dataclass(frozen=True)
class Part:
    """Rows that come from one place."""

    place: str  # for messages
    rows: Callable[[], Iterator[Row]]
    label: str | None = None  # of all rows; otherwise each has its own
    names: tuple[str, ...] | None = None  # of the classes, where rows hold their indices


class GivenSource(ABC):
    """Text that a user brings."""

    licence = "As its owner says."

    def __init__(self, name: str, kind: str, columns: Columns):
        self.name, self.kind, self._columns = name, kind, columns

    @property
    def identity(self) -> str:
        """Equal identities promise equal documents."""
        return self._identity

    @cached_property
    def _identity(self) -> str:
        return self._describe()

    @abstractmethod
    def _describe(self) -> str:
        """What is read and how, without where."""

    @abstractmethod
    def _find(self) -> dict[str, list[Part]]:
        """The parts of each split that is given."""

    @property
    def official_test(self) -> bool:
        """Whether a test split was given."""
        return "test" in self._parts

    def documents(self, cache: Path) -> Iterator[Document]:
        """Every document, those of train first."""
        found = self._documents()
        yield from found if self._columns.label is None else learnable(found, self._columns.label)

    @cached_property
    def _parts(self) -> dict[str, list[Part]]:
        parts = self._find()
        if self._columns.label is None or "test" not in parts or self._is_labelled(parts["test"]):
            return parts
        print(
            f"data={self.name}: the given test split has no labels; a test split is cut from train.",
            file=sys.stderr,
        )
        return {UNLABELLED if role == "test" else role: given for role, given in parts.items()}

    def _is_labelled(self, parts: list[Part]) -> bool:
        """Whether one of the first rows has a label: withheld are all or none."""
        part, column = parts[0], self._columns.label or ""
        if part.label:
            return True
        first = list(islice(part.rows(), FIRST))
        return not first or any(label_in(row.get(column), column, part.names) for row in first)

    def _documents(self) -> Iterator[Document]:
        missing = {"val", "test"} - self._parts.keys()
        for role in (*SPLITS, UNLABELLED):
            for text, label, reason in self._cells(self._parts.get(role, [])):
                split = {"train": cut(text, missing), UNLABELLED: "test"}.get(role, role)
                yield Document("", split, dropped=reason) if reason else Document(text, split, label)

    def _cells(self, parts: list[Part]) -> Iterator[Cell]:
        """Text, label and reason to be dropped of each document of a split."""
        found = chain.from_iterable(map(self._plain if self._columns.label is None else self._labelled, parts))
        yield from islice(found, self._columns.max_documents)

    def _labelled(self, part: Part) -> Iterator[Cell]:
        column = self._columns.label or ""
        for row in self._checked(part):
            text, reason = text_in(row.get(self._columns.text))
            label = part.label or label_in(row.get(column), column, part.names)
            yield text, label, reason or ("" if label else "without_label")

    def _plain(self, part: Part) -> Iterator[Cell]:
        cells = (text_in(row.get(self._columns.text)) for row in self._checked(part))
        if self._columns.document_start is not None:
            cells = joined(cells, re.compile(self._columns.document_start))
        for text, reason in cells:
            yield text, "", reason

    def _checked(self, part: Part) -> Iterator[Row]:
        """The rows, after a look whether they have the columns."""
        rows = part.rows()
        first = list(islice(rows, FIRST))
        if first:
            self._check_columns(part, {column for row in first for column in row})
        yield from chain(first, rows)

    def _check_columns(self, part: Part, columns: set[str]) -> None:
        """Raise `ConfigError` with the closest match where a column isn't there."""
        wanted = {"text": self._columns.text}
        if part.label is None and self._columns.label is not None and part not in self._parts.get(UNLABELLED, []):
            wanted["label"] = self._columns.label
        for key, column in wanted.items():
            if column not in columns:
                raise not_one_of(f"data.{key}", column, columns, f" as a column of {part.place}")


def joined(cells: Iterable[tuple[str, str]], start: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Rows from one that matches to the next as one text; rows that aren't text stay by themselves.

    >>> rows = [(" = A = ", ""), ("x", ""), ("", "not_text"), (" = = B = = ", ""), (" = C = ", ""), ("y", "")]
    >>> list(joined(rows, re.compile(" = [^=]")))
    [('', 'not_text'), (' = A = \\nx\\n = = B = = ', ''), (' = C = \\ny', '')]
    """
    lines: list[str] = []
    for text, reason in cells:
        if reason:
            yield text, reason
            continue
        if lines and start.match(text):
            yield "\n".join(lines), ""
            lines = []
        lines.append(text.removesuffix("\n"))
    if lines:
        yield "\n".join(lines), ""
