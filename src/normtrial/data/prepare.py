"""From a source to arrays on disk: gather the documents that stay, train the tokenizer, tokenize, export.

Runs once a machine (see `data.cache`) and leaves `tokenizer.json`, `meta.json` and the files of `data.arrays`.
Memory is bounded whatever the size of the text: a few dozen bytes a document, and one group of texts at a time.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from normtrial.data.arrays import export, fingerprint
from normtrial.data.gather import first_bytes, gathered, texts_of
from normtrial.data.sources.source import SPLITS, Source
from normtrial.data.sources.synthetic import Synthetic
from normtrial.data.statistics import unknown_share
from normtrial.data.tokenizer import catalogue as tokenizers

# The vocabulary is learnt from the first documents of the training split: in the order of their hash a fair
# sample, and always the same. No shipped set is a third as large; counting pairs takes a multiple in memory.
VOCABULARY_BYTES = 100_000_000


def prepare(source: Source, tokenizer: str, vocab_size: int | None, folder: Path, cache: Path) -> None:
    """Write the arrays, the tokenizer and the facts of `source` into the existing `folder`.

    What the source itself keeps on disk is below `cache`.
    """
    with gathered(source, cache, folder) as found:
        documents, labels = found.documents, found.labels
        vocabulary = tokenizers.make(
            tokenizer, vocab_size, lambda: first_bytes(texts_of(documents["train"]), VOCABULARY_BYTES)
        )
        vocabulary.tokenizer.save(str(folder / "tokenizer.json"))
        lengths = {
            split: export(documents[split], split, source.kind, labels, vocabulary, folder) for split in SPLITS
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
        "documents": {split: len(documents[split]) for split in SPLITS},
        "chars": {split: length["chars"] for split, length in lengths.items()},
        "bytes": {split: length["bytes"] for split, length in lengths.items()},
        "dropped": found.dropped,
        "fingerprint": fingerprint(folder, labels),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8")
