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

from normtrial.data import tokenizer as bpe
from normtrial.data.arrays import export, fingerprint
from normtrial.data.select import clean, select
from normtrial.data.sources.given.classes import ordered
from normtrial.data.sources.source import SPLITS, Source
from normtrial.errors import require


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
    labels = ordered(set(documents.unique("label")) - {""})
    require(
        source.kind == "lm" or len(labels) >= 2,
        f"data={source.name} has a single class {labels}: nothing to classify.",
    )
    tokenizer = bpe.train((row["text"] for row in documents.select(kept["train"])), vocab_size)  # type: ignore[index]
    tokenizer.save(str(folder / "tokenizer.json"))
    chars = {
        split: export(documents.select(kept[split]), split, source.kind, labels, tokenizer, folder)
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
        "fingerprint": fingerprint(folder, labels),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8")
