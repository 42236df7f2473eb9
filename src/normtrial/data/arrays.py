"""Tokenized documents on disk: written once a machine, read by memory map.

Each split is three arrays:

    {split}.tokens.npy    all documents, one after the other (lm: each followed by [EOS])
    {split}.offsets.npy   where each begins; one more entry for the end
    {split}.labels.npy    the class of each (lm: zeros)
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from normtrial.data.gather import groups
from normtrial.data.sources.source import SPLITS
from normtrial.data.tokenizer.vocabulary import Vocabulary
from normtrial.errors import ConfigError

if TYPE_CHECKING:
    from datasets import Dataset

ARRAYS = ("tokens", "offsets", "labels")
GROUP_CHARS = 2**22  # encoded together: work for many cores, some 200 MB while it lasts


def export(
    documents: Dataset, split: str, kind: str, labels: list[str], vocabulary: Vocabulary, folder: Path
) -> dict[str, int]:
    """Tokenize one split into its three arrays; how long its text is, in `chars` and `bytes`.

    The texts of a group are encoded by threads of `tokenizers`, one a core.
    """
    end = [vocabulary.eos] if kind == "lm" else []
    dtype = np.dtype(np.uint16 if vocabulary.size <= 2**16 else np.uint32)
    number = {label: index for index, label in enumerate(labels)}
    offsets, classes, length = array("q", [0]), array("i"), {"chars": 0, "bytes": 0}

    def pieces() -> Iterator[np.ndarray]:
        for texts, names in groups(documents, GROUP_CHARS):
            for ids in vocabulary.encode(texts):
                yield np.array(ids + end, dtype)
                offsets.append(offsets[-1] + len(ids) + len(end))
            classes.extend(number[name] if labels else 0 for name in names)
            length["chars"] += sum(map(len, texts))
            length["bytes"] += sum(len(text.encode()) for text in texts)

    save(folder / f"{split}.tokens.npy", pieces(), dtype)
    np.save(folder / f"{split}.offsets.npy", np.frombuffer(offsets, np.int64))
    np.save(folder / f"{split}.labels.npy", np.frombuffer(classes, np.int32))
    return length


def save(path: Path, pieces: Iterable[np.ndarray], dtype: np.dtype) -> None:
    """What `np.save` writes of all pieces joined, without holding more than one."""
    size = 0
    with path.open("wb") as file:
        for final in (False, True):  # the header stands first and says the size; numpy leaves it room to grow
            file.seek(0)
            header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(file, header)
            for piece in () if final else pieces:
                file.write(piece.data)
                size += piece.size


def fingerprint(folder: Path, labels: list[str]) -> str:
    """SHA-256 of what a model can see: every array of every split, and the names of the classes."""
    digest = hashlib.sha256(json.dumps(labels).encode())
    for split in SPLITS:
        for name in ARRAYS:
            with (folder / f"{split}.{name}.npy").open("rb") as file:
                hashlib.file_digest(file, lambda: digest)  # by pieces, into the digest that there is
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
