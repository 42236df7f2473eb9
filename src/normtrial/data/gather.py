"""The documents of a source that stay, cleaned, on disk in the Arrow files of `datasets` whatever their size.

Within a split, documents stand in the order of their SHA-1: any prefix is a fair sample and no batch follows the
order of files, which are sorted by label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from normtrial.data.select import clean, select
from normtrial.data.sources.given.classes import ordered
from normtrial.data.sources.source import SPLITS, Source
from normtrial.errors import require

if TYPE_CHECKING:
    from datasets import Dataset

ROWS = 64  # written and read together: at a megabyte a document still little, and enough to be quick


@dataclass(frozen=True, slots=True)
class Gathered:
    """What is kept of a source."""

    documents: dict[str, Dataset]  # by split, with `text` and `label`
    labels: list[str]  # every class of the source, sorted
    dropped: dict[str, int]  # by reason


@contextmanager
def gathered(source: Source, cache: Path, folder: Path) -> Iterator[Gathered]:
    """Read and select the documents; their files are in `folder` until the context ends."""
    import datasets

    bars_were_on = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with TemporaryDirectory(dir=folder) as scratch:
            yield _gather(source, cache, scratch)
    finally:
        if bars_were_on:
            datasets.enable_progress_bars()


def _gather(source: Source, cache: Path, scratch: str) -> Gathered:
    from datasets import Dataset
    from datasets.exceptions import DatasetGenerationError

    def rows() -> Iterator[dict[str, str]]:
        for document in source.documents(cache):
            yield {**document._asdict(), "text": clean(document.text)}

    # A named fingerprint: otherwise `datasets` pickles our function to hash it.
    try:
        documents = Dataset.from_generator(
            rows, cache_dir=scratch, fingerprint="documents", writer_batch_size=ROWS
        )
    except DatasetGenerationError as error:
        raise error.__cause__ or error from None  # the library wraps what a source wants to tell the user
    assert isinstance(documents, Dataset)
    kept, dropped = select(documents, source.official_test)
    for split in SPLITS:
        require(len(kept[split]) > 0, f"data={source.name} leaves no document in its {split} split ({dropped}).")
    labels = ordered(set(documents.unique("label")) - {""})
    require(
        source.kind == "lm" or len(labels) >= 2,
        f"data={source.name} has a single class {labels}: nothing to classify.",
    )
    return Gathered({split: documents.select(kept[split]) for split in SPLITS}, labels, dropped)


def groups(documents: Dataset, num_chars: int) -> Iterator[tuple[list[str], list[str]]]:
    """Texts and labels in order, in groups that end with the document that reaches `num_chars`."""
    texts: list[str] = []
    labels: list[str] = []
    size = 0
    for rows in documents.iter(ROWS):
        for text, label in zip(rows["text"], rows["label"], strict=True):  # type: ignore[index]
            texts.append(text)
            labels.append(label)
            size += len(text)
            if size >= num_chars:
                yield texts, labels
                texts, labels, size = [], [], 0
    if texts:
        yield texts, labels


def texts_of(documents: Dataset) -> Iterator[str]:
    """The texts in order."""
    for texts, _ in groups(documents, num_chars=1):
        yield from texts


def first_bytes(texts: Iterable[str], num_bytes: int) -> Iterator[str]:
    """Whole texts up to the one that reaches that many bytes of UTF-8.

    >>> list(first_bytes(["ab", "cd", "ef"], num_bytes=3))
    ['ab', 'cd']
    """
    left = num_bytes
    for text in texts:
        if left <= 0:
            return
        yield text
        left -= len(text.encode())
