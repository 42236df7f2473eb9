"""From a source to arrays on disk: gather the documents that stay, train the tokenizer, tokenize, export.

Runs once a machine (see `data.cache`) and leaves `tokenizer.json`, `meta.json` and the files of `data.arrays`.
Memory is bounded whatever the size of the text: a few dozen bytes a document, and one group of texts at a time.
"""

from __future__ import annotations

import json
from pathlib import Path

from normtrial.data import tokenizer as bpe
from normtrial.data.arrays import export, fingerprint
from normtrial.data.gather import first_bytes, gathered, texts_of
from normtrial.data.sources.source import SPLITS, Source

# The vocabulary is learnt from the first documents of the training split: in the order of their hash a fair
# sample, and always the same. No shipped set is a third as large; counting pairs takes a multiple in memory.
VOCABULARY_BYTES = 100_000_000


def prepare(source: Source, vocab_size: int, folder: Path, cache: Path) -> None:
    """Write the arrays, the tokenizer and the facts of `source` into the existing `folder`.

    What the source itself keeps on disk is below `cache`.
    """
    with gathered(source, cache, folder) as found:
        documents, labels = found.documents, found.labels
        tokenizer = bpe.train(first_bytes(texts_of(documents["train"]), VOCABULARY_BYTES), vocab_size)
        tokenizer.save(str(folder / "tokenizer.json"))
        chars = {
            split: export(documents[split], split, source.kind, labels, tokenizer, folder) for split in SPLITS
        }
    meta = {
        "name": source.name,
        "task": source.kind,
        "licence": source.licence,
        "identity": source.identity,
        "vocab_size": tokenizer.get_vocab_size(),
        "labels": labels,
        "documents": {split: len(documents[split]) for split in SPLITS},
        "chars": chars,
        "dropped": found.dropped,
        "fingerprint": fingerprint(folder, labels),
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=2, ensure_ascii=False), encoding="utf-8")
