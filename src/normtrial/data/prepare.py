"""From a source to arrays on disk: clean, deduplicate, split, train the tokenizer, tokenize, export.

Runs once a machine (see `data.cache`) and leaves `tokenizer.json`, `meta.json` and the files of `data.arrays`.
Text stays on disk in the Arrow files of `datasets`, whatever its size; in memory are only digests. Within a
split, documents stand in the order of their SHA-1: any prefix is a fair sample and no batch follows the order
of files, which are sorted by label.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from normtrial.data.arrays import export, fingerprint
from normtrial.data.select import clean, select
from normtrial.data.sources.given.classes import ordered
from normtrial.data.sources.source import SPLITS, Source
from normtrial.data.sources.synthetic import Synthetic
from normtrial.data.statistics import unknown_share
from normtrial.data.tokenizer import catalogue as tokenizers
from normtrial.errors import require


def prepare(source: Source, tokenizer: str, vocab_size: int | None, folder: Path, cache: Path) -> None:
    """Write the arrays, the tokenizer and the facts of `source` into the existing `folder`.

    What the source itself keeps on disk is below `cache`.
    """
    import datasets

    bars_were_on = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with TemporaryDirectory(dir=folder) as scratch:
            _prepare(source, tokenizer, vocab_size, folder, cache, scratch)
    finally:
        if bars_were_on:
            datasets.enable_progress_bars()


def _prepare(
    source: Source, tokenizer: str, vocab_size: int | None, folder: Path, cache: Path, scratch: str
) -> None:
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
    labels = ordered(set(documents.unique("label")) - {""})
    require(
        source.kind == "lm" or len(labels) >= 2,
        f"data={source.name} has a single class {labels}: nothing to classify.",
    )
    train = documents.select(kept["train"])
    vocabulary = tokenizers.make(tokenizer, vocab_size, lambda: (row["text"] for row in train))  # type: ignore[index]
    vocabulary.tokenizer.save(str(folder / "tokenizer.json"))
    lengths = {
        split: export(documents.select(kept[split]), split, source.kind, labels, vocabulary, folder)
        for split in SPLITS
    }
    meta = {
        "name": source.name,
        "task": source.kind,
        "licence": source.licence,
        "identity": source.identity,
        "synthetic": isinstance(source, Synthetic),
        "tokenizer": tokenizers.identity(tokenizer),
        "vocab_size": vocabulary.size,
        "pad": vocabulary.pad,
        "unknown_share": {
            split: unknown_share(np.load(folder / f"{split}.tokens.npy", mmap_mode="r"), vocabulary.unk)
            for split in SPLITS
        },
        "labels": labels,
        "documents": {split: len(kept[split]) for split in SPLITS},
        "chars": {split: length["chars"] for split, length in lengths.items()},
        "bytes": {split: length["bytes"] for split, length in lengths.items()},
        "dropped": dropped,
        "fingerprint": fingerprint(folder, labels),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8")
