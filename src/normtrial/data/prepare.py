"""From a source to arrays on disk: clean, deduplicate, split, train the tokenizer, tokenize, export.

Runs once a machine (see `data.cache`). Text stays on disk in the Arrow files of `datasets`, whatever its
size; in memory are only digests. Each split becomes three arrays, read back by memory map:

    {split}.tokens.npy    all documents, one after the other (lm: each followed by [EOS])
    {split}.offsets.npy   where each begins; one more entry for the end
    {split}.labels.npy    the class of each (lm: zeros)

beside `tokenizer.json` and `meta.json`. Within a split, documents stand in the order of their SHA-1: any
prefix is a fair sample and no batch follows the order of files, which are sorted by label.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from normtrial.data import tokenizer as bpe
from normtrial.data.sources.source import SPLITS, Source, text_digest
from normtrial.errors import ConfigError, require

if TYPE_CHECKING:
    from datasets import Dataset
    from tokenizers import Tokenizer

ARRAYS = ("tokens", "offsets", "labels")


def clean(text: str) -> str:
    """Unix line ends, no NUL, no white space around; nothing else, since models should see real text.

    >>> clean(" one\\r\\ntwo\\0 ")
    'one\\ntwo'
    """
    return text.replace("\r\n", "\n").replace("\0", "").strip()


def duplicate_key(text: str) -> bytes:
    """Equal for texts that differ only in white space and case.

    >>> duplicate_key("Two  words") == duplicate_key("two\\nwords")
    True
    """
    return hashlib.sha256(" ".join(text.split()).casefold().encode()).digest()


def prepare(source: Source, vocab_size: int, folder: Path, cache: Path) -> None:
    """Write the arrays, the tokenizer and the facts of `source` into the existing `folder`.

    What the source itself keeps on disk is below `cache`.
    """
    import datasets

    bars_were_on = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with TemporaryDirectory(dir=folder) as scratch:
            _prepare(source, vocab_size, folder, cache, scratch)
    finally:
        if bars_were_on:
            datasets.enable_progress_bars()


def _prepare(source: Source, vocab_size: int, folder: Path, cache: Path, scratch: str) -> None:
    from datasets import Dataset
    from datasets.exceptions import DatasetGenerationError

    def rows() -> Iterator[dict[str, str]]:
        for document in source.documents(cache):
            yield {**document._asdict(), "text": clean(document.text)}

    # Named fingerprints: otherwise `datasets` pickles our functions to hash them.
    try:
        documents = Dataset.from_generator(rows, cache_dir=scratch, fingerprint="documents")
    except DatasetGenerationError as error:
        raise error.__cause__ or error from None  # the library wraps what a source wants to tell the user
    assert isinstance(documents, Dataset)
    kept, dropped = select(documents, source.official_test)
    for split in SPLITS:
        require(bool(kept[split]), f"data={source.name} leaves no document in its {split} split ({dropped}).")
    labels = sorted(set(documents.unique("label")) - {""})
    require(
        source.kind == "lm" or len(labels) >= 2,
        f"data={source.name} has a single class {labels}: nothing to classify.",
    )
    tokenizer = bpe.train((row["text"] for row in documents.select(kept["train"])), vocab_size)  # type: ignore[index]
    tokenizer.save(str(folder / "tokenizer.json"))
    chars = {
        split: _export(documents.select(kept[split]), split, source.kind, labels, tokenizer, folder)
        for split in SPLITS
    }
    meta = {
        "name": source.name,
        "task": source.kind,
        "licence": source.licence,
        "identity": source.identity,
        "vocab_size": tokenizer.get_vocab_size(),
        "labels": labels,
        "documents": {split: len(kept[split]) for split in SPLITS},
        "chars": chars,
        "dropped": dropped,
        "fingerprint": _fingerprint(folder, labels),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8")


def select(documents: Iterable[Any], official_test: bool = False) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Row numbers to keep by split, and how many were dropped for which reason.

    The first of equal texts stays, whatever its split; texts that appear under several labels go altogether.
    An official test split stays as published, so that results compare; what it repeats goes from the others.
    """
    copies: dict[bytes, list[tuple[int, str]]] = defaultdict(list)
    order: list[tuple[str, str]] = []  # split and digest of each row
    for index, row in enumerate(documents):
        order.append((row["split"], text_digest(row["text"])))
        if row["text"]:
            copies[duplicate_key(row["text"])].append((index, row["label"]))
    dropped: Counter[str] = Counter(
        empty=len(order) - sum(map(len, copies.values())), duplicates=0, conflicting_labels=0
    )
    kept: dict[str, list[int]] = {split: [] for split in SPLITS}
    for rows in copies.values():
        published = [index for index, _ in rows if official_test and order[index][0] == "test"]
        if published:
            kept["test"] += published
            dropped["also_in_test"] += len(rows) - len(published)
        elif len({label for _, label in rows}) > 1:
            dropped["conflicting_labels"] += len(rows)
        else:
            dropped["duplicates"] += len(rows) - 1
            first = rows[0][0]
            kept[order[first][0]].append(first)
    return {split: sorted(rows, key=lambda row: order[row][1]) for split, rows in kept.items()}, dict(dropped)


def _export(
    documents: Dataset, split: str, kind: str, labels: list[str], tokenizer: Tokenizer, folder: Path
) -> int:
    """Tokenize one split into its three arrays; its number of characters."""
    end = [bpe.EOS] if kind == "lm" else []
    dtype = np.uint16 if tokenizer.get_vocab_size() <= 2**16 else np.uint32

    def encode(rows: dict[str, list[str]]) -> dict[str, list[Any]]:
        tokens = [np.array(ids + end, dtype) for ids in bpe.encode(tokenizer, rows["text"])]
        chars = [len(text) for text in rows["text"]]
        classes = [labels.index(label) if labels else 0 for label in rows["label"]]
        return {"tokens": tokens, "length": [len(ids) for ids in tokens], "chars": chars, "class": classes}

    encoded = documents.map(encode, batched=True, remove_columns=documents.column_names, new_fingerprint=split)
    encoded = encoded.with_format("numpy")
    offsets = np.concatenate([[0], np.cumsum(encoded["length"][:], dtype=np.int64)])
    tokens = np.lib.format.open_memmap(
        folder / f"{split}.tokens.npy", mode="w+", dtype=dtype, shape=(int(offsets[-1]),)
    )
    for index, row in enumerate(encoded):
        tokens[offsets[index] : offsets[index + 1]] = row["tokens"]  # type: ignore[index]
    tokens.flush()
    np.save(folder / f"{split}.offsets.npy", offsets)
    np.save(folder / f"{split}.labels.npy", np.asarray(encoded["class"][:], dtype=np.int32))
    return int(np.sum(encoded["chars"][:]))


def _fingerprint(folder: Path, labels: list[str]) -> str:
    """SHA-256 of what a model can see: every array of every split, and the names of the classes."""
    digest = hashlib.sha256(json.dumps(labels).encode())
    for split in SPLITS:
        for name in ARRAYS:
            digest.update((folder / f"{split}.{name}.npy").read_bytes())
    return digest.hexdigest()


def read(folder: Path) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
    """The facts and, by split and name, the memory-mapped arrays of a prepared folder."""
    try:
        meta = json.loads((folder / "meta.json").read_text("utf-8"))
        arrays = {
            split: {name: np.load(folder / f"{split}.{name}.npy", mmap_mode="r") for name in ARRAYS}
            for split in SPLITS
        }
    except (OSError, ValueError) as error:
        raise ConfigError(f"The data cache {folder} is damaged ({error}). Delete it; it is rebuilt.") from error
    return meta, arrays
