"""Which documents stay, against plain Python; and what is written of them, against numpy."""

import random
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from normtrial.data import arrays, prepare
from normtrial.data.arrays import fingerprint, save
from normtrial.data.dataset import TextData
from normtrial.data.select import duplicate_key, select
from normtrial.data.sources.source import SPLITS, Document, text_digest
from normtrial.data.statistics import counts
from tests.data.test_preparation import usual

Row = dict[str, str]


def plainly(rows: list[Row], official_test: bool) -> tuple[dict[str, list[int]], dict[str, int]]:
    """The rules of `select` as they are told."""
    copies: dict[bytes, list[int]] = defaultdict(list)
    dropped = {"empty": 0, "duplicates": 0, "conflicting_labels": 0}
    for index, row in enumerate(rows):
        if row["text"]:
            copies[duplicate_key(row["text"])].append(index)
        else:
            dropped["empty"] += 1
    kept: dict[str, list[int]] = {split: [] for split in SPLITS}
    for same in copies.values():
        published = [index for index in same if official_test and rows[index]["split"] == "test"]
        if published:
            kept["test"] += published
            dropped["also_in_test"] = dropped.get("also_in_test", 0) + len(same) - len(published)
        elif len({rows[index]["label"] for index in same}) > 1:
            dropped["conflicting_labels"] += len(same)
        else:
            dropped["duplicates"] += len(same) - 1
            kept[rows[same[0]]["split"]].append(same[0])
    for found in kept.values():
        found.sort(key=lambda row: text_digest(rows[row]["text"]))
    return kept, dropped


@pytest.mark.parametrize("official_test", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_documents_are_selected_by_the_rules(seed: int, official_test: bool) -> None:
    rng = random.Random(seed)
    texts = [*map(str, range(rng.choice([3, 40]))), "two words", "two  Words", ""]
    rows = [
        Document(rng.choice(texts), rng.choice(SPLITS), rng.choice("xxxy"))._asdict()
        for _ in range(rng.choice([1, 60]))
    ]
    kept, dropped = select(rows, official_test)
    expected, reasons = plainly(rows, official_test)
    assert {split: found.tolist() for split, found in kept.items()} == expected
    assert dropped == reasons
    assert sum(map(len, kept.values())) + sum(dropped.values()) == len(rows)


@pytest.mark.parametrize("pieces", [[], [[]], [[1, 2], [], [3]], [[5] * 100_000]])
def test_pieces_are_saved_as_numpy_saves_the_whole(pieces: list[list[int]], tmp_path: Path) -> None:
    dtype = np.dtype(np.uint16)
    save(tmp_path / "pieces.npy", (np.array(piece, dtype) for piece in pieces), dtype)
    np.save(tmp_path / "whole.npy", np.array([number for piece in pieces for number in piece], dtype))
    assert (tmp_path / "pieces.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()


def test_tokens_are_counted_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = np.random.default_rng(0).integers(0, 9, 1000).astype(np.uint16)
    monkeypatch.setattr("normtrial.data.statistics.PIECE", 7)
    assert counts(tokens, 12).tolist() == np.bincount(tokens, minlength=12).tolist()


def test_neither_threads_nor_groups_change_what_is_prepared(load_toy, tmp_path, monkeypatch) -> None:
    """`tokenizers` reads its switch at every call; off is one thread."""
    found = set()
    for threads, chars in (("true", 10**6), ("false", 10**6), ("true", 200)):
        monkeypatch.setenv("TOKENIZERS_PARALLELISM", threads)
        monkeypatch.setattr(arrays, "GROUP_CHARS", chars)
        data: TextData = load_toy(usual(), vocab_size=330)
        found.add(data.fingerprint)
        (folder,) = tmp_path.glob("toy-????????????????")
        assert fingerprint(folder, list(data.task.labels)) == data.fingerprint, "read again from disk"
        folder.rename(tmp_path / f"{threads}-{chars}")
    assert len(found) == 1


def test_the_vocabulary_of_a_large_text_is_learnt_from_its_first_documents(
    load_toy, tmp_path, monkeypatch
) -> None:
    learnt = []
    for num_bytes in (1, 10**6):
        monkeypatch.setattr(prepare, "VOCABULARY_BYTES", num_bytes)
        load_toy(usual(), vocab_size=2000)
        (saved,) = tmp_path.glob("toy-*/tokenizer.json")
        learnt.append({word.strip("Ġ") for word in Tokenizer.from_file(str(saved)).get_vocab()})
        saved.unlink()
        saved.parent.rename(tmp_path / f"read-{num_bytes}")
    one, every = learnt
    first = min((row.text for row in usual() if row.split == "train"), key=text_digest)
    assert every >= {"good", "bad", "knows"}
    assert one & {"good", "bad", "knows"} == {"good", "bad", "knows"} & set(first.split())
