"""A row at a time of each file format, through `datasets`; what a file is, its suffix says.

Cells of CSV stay text: pandas would read `NA`, `null` and `1.50` as something else. Lines of JSON are parsed here,
since the library's reader names no line, and infers one type for a column that may hold several.
"""

from __future__ import annotations

import csv
import gc
import glob
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from normtrial.data.sources.given.encoding import check_encoding
from normtrial.data.sources.given.loading import explained, load
from normtrial.errors import ConfigError, require

Row = dict[str, Any]


def rows(path: Path, encoding: str, sample_by: str) -> Iterator[Row]:
    """The rows of a file; `sample_by` (document, paragraph or line) is the unit of plain text."""
    found = READERS[path.suffix.lower()](path, encoding, sample_by)
    try:
        yield from found
    except GeneratorExit:
        with warnings.catch_warnings():  # of rows left unread, pandas leaves the file to the collector
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        raise


def _stream(builder: str, path: Path, **options: Any) -> Iterator[Row]:
    """Without a copy in the library's cache: the prepared arrays are our copy."""
    name = glob.escape(str(path.resolve()))
    with explained(str(path)):
        yield from load(builder, data_files=name, split="train", streaming=True, **options)


def _marked(encoding: str) -> str:
    """UTF-8 may begin with a byte order mark, which is no text."""
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def _table(path: Path, encoding: str, sample_by: str) -> Iterator[Row]:
    from datasets import Features, Value

    check_encoding(path, encoding)
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    columns = header(path, _marked(encoding), separator)
    yield from _stream(
        "csv",
        path,
        sep=separator,
        encoding=_marked(encoding),
        features=Features({column: Value("string") for column in columns}),
        keep_default_na=False,
        na_filter=False,
        chunksize=1_000,  # rows in memory at once; ten times as many are usual, but documents are long
    )


def header(path: Path, encoding: str, separator: str) -> list[str]:
    """The names of the columns, after refusing what pandas takes silently: doubled names, longer rows."""
    csv.field_size_limit(sys.maxsize)  # a document may be longer than the 128 KiB it allows
    with path.open(encoding=encoding, newline="") as file:
        lines = csv.reader(file, delimiter=separator)
        try:
            columns, first = next(lines, []), next(lines, [])
        except csv.Error as error:
            raise ConfigError(f"{path} is no table: {error}.") from error
    require(bool(columns), f"{path} is empty: its first line should name the columns.")
    twice = sorted({column for column in columns if columns.count(column) > 1})
    require(not twice, f"{path} has several columns of one name: {', '.join(map(repr, twice))}.")
    require(
        len(first) <= len(columns),
        f"{path}: the first row has {len(first)} fields, but the header names {len(columns)} columns. "
        "A text that holds a separator stands in quotes.",
    )
    return columns


def _lines(path: Path, encoding: str, sample_by: str) -> Iterator[Row]:
    check_encoding(path, encoding)
    for number, line in enumerate(_stream("text", path, encoding=_marked(encoding)), 1):
        if line["text"].strip():
            yield _object(path, number, line["text"])


def _object(path: Path, number: int, line: str) -> Row:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path}, line {number} is not JSON from column {getattr(error, 'colno', 1)} on: {line[:60]!r}. "
            'Each line holds one object, as in {"text": "…", "label": "…"}.'
        ) from error
    require(isinstance(row, dict), f"{path}, line {number} is not an object with named columns: {line[:60]!r}.")
    return row


def _parquet(path: Path, encoding: str, sample_by: str) -> Iterator[Row]:
    yield from _stream("parquet", path)


def _text(path: Path, encoding: str, sample_by: str) -> Iterator[Row]:
    check_encoding(path, encoding)
    yield from _stream("text", path, encoding=_marked(encoding), sample_by=sample_by)


READERS: dict[str, Callable[[Path, str, str], Iterator[Row]]] = {
    ".csv": _table,
    ".tsv": _table,
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _lines,
    ".parquet": _parquet,
    ".txt": _text,
}
PLAIN = ".txt"
