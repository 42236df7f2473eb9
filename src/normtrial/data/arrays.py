"""Tokenized documents on disk: written once a machine, read by memory map.

Each split is three arrays:

    {split}.tokens.npy    all documents, one after the other (lm: each followed by [EOS])
    {split}.offsets.npy   where each begins; one more entry for the end
    {split}.labels.npy    the class of each (lm: zeros)
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from normtrial.data.sources.source import SPLITS
from normtrial.data.tokenizer.vocabulary import Vocabulary
from normtrial.errors import ConfigError

if TYPE_CHECKING:
    from datasets import Dataset

ARRAYS = ("tokens", "offsets", "labels")


def export(
    documents: Dataset, split: str, kind: str, labels: list[str], vocabulary: Vocabulary, folder: Path
) -> dict[str, int]:
    """Tokenize one split into its three arrays; how long its text is."""
    end = [vocabulary.eos] if kind == "lm" else []
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.uint32

    def encode(rows: dict[str, list[str]]) -> dict[str, list[Any]]:
        tokens = [np.array(ids + end, dtype) for ids in vocabulary.encode(rows["text"])]
        chars = [len(text) for text in rows["text"]]
        num_bytes = [len(text.encode()) for text in rows["text"]]
        classes = [labels.index(label) if labels else 0 for label in rows["label"]]
        lengths = [len(ids) for ids in tokens]
        return {"tokens": tokens, "length": lengths, "chars": chars, "bytes": num_bytes, "class": classes}

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
    return {unit: int(np.sum(encoded[unit][:])) for unit in ("chars", "bytes")}


def fingerprint(folder: Path, labels: list[str]) -> str:
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
