"""`data=files`: every format gives the same documents, names give the splits, content gives the identity."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from normtrial.data.dataset import TextData
from normtrial.data.sources.source import split_by_hash, validation_by_hash
from normtrial.data.statistics import describe
from normtrial.identity import run_id
from tests.data.given.conftest import Rows, config, documents, numbered, write
from tests.norms.options import settings
from tests.support import ROOT

AWKWARD: Rows = [
    {"text": 'a comma, a "quote", a tab\tand\na new line', "label": "1"},
    {"text": "NA", "label": "2"},
    {"text": "null", "label": "1"},
    {"text": "1.50", "label": "2"},
    {"text": "  很好 é 𠮷 ", "label": "1"},
]
TABLES = ("csv", "tsv", "jsonl", "parquet")


@pytest.mark.parametrize("suffix", TABLES)
def test_every_format_gives_the_same_text(suffix: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"mine.{suffix}", AWKWARD)
    found = {document.text: document.label for document in documents(path)}
    assert found == {row["text"]: row["label"] for row in AWKWARD}


@pytest.mark.parametrize("changed", ["mark", "windows", "gb18030", "utf-16"])
def test_marks_line_ends_and_encodings_change_nothing(changed: str, tmp_path: Path) -> None:
    for suffix in ("csv", "tsv", "jsonl"):
        rows = [{"text": f"很好的酒店 {n}", "label": str(n % 2)} for n in range(4)]
        path = write(tmp_path / f"mine.{suffix}", rows)
        expected = documents(path)
        content = path.read_bytes().replace(b"\r\n", b"\n").decode()
        if changed == "windows":
            content = content.replace("\n", "\r\n")
        encoding = {"mark": "utf-8-sig", "windows": "utf-8"}.get(changed, changed)
        path.write_bytes(content.encode(encoding))
        assert documents(path, encoding="utf-8" if encoding == "utf-8-sig" else encoding) == expected


def test_other_columns_by_name_and_others_unread(tmp_path: Path) -> None:
    rows = [{"id": n, "review": f"text {n}", "stars": 1 + n % 2, "date": None} for n in range(6)]
    for suffix in TABLES:
        found = documents(write(tmp_path / f"mine.{suffix}", rows), text="review", label="stars")
        assert sorted((document.text, document.label) for document in found) == [
            (f"text {n}", str(1 + n % 2)) for n in range(6)
        ]


def test_plain_text_is_labelled_by_its_folder(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for label in ("neg", "pos"):
            for number in range(20):
                place = tmp_path / split / label / f"[{number}] x.txt"  # a name that looks like a pattern
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(f"{split} {label}\n\n{number}")
    found = documents(tmp_path)
    assert Counter((document.split == "test", document.label) for document in found) == dict.fromkeys(
        [(False, "neg"), (False, "pos"), (True, "neg"), (True, "pos")], 20
    )
    assert all("\n\n" in document.text for document in found)


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({}, ["= A =\none\n\ntwo\n= B =\nthree"]),
        ({"sample_by": "paragraph"}, ["= A =\none", "two\n= B =\nthree"]),
        ({"sample_by": "line"}, ["= A =", "one", "", "two", "= B =", "three"]),
        ({"sample_by": "line", "document_start": "= "}, ["= A =\none\n\ntwo", "= B =\nthree"]),
        ({"sample_by": "line", "max_documents": 2}, ["= A =", "one"]),
    ],
)
def test_plain_text_for_a_language_model(changes: dict[str, str], texts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("= A =\none\n\ntwo\n= B =\nthree")
    assert [document.text for document in documents(path, "files_lm", **changes)] == texts


def splits(found: list) -> dict[str, set[str]]:
    return {split: {d.text.split()[0] for d in found if d.split == split} for split in ("train", "val", "test")}


def test_names_give_the_splits_and_the_rest_is_cut_from_train(tmp_path: Path) -> None:
    train = write(tmp_path / "one" / "training-1.csv", numbered("train"))
    found = documents(tmp_path / "one")
    assert all(document.split == split_by_hash(document.text) for document in found)
    assert documents(train) == found
    write(tmp_path / "one" / "my_test.csv", numbered("test"))
    source = config(tmp_path / "one").chosen()
    found = list(source.documents(tmp_path))
    assert source.official_test
    assert splits(found) == {"train": {"train"}, "val": {"train"}, "test": {"test"}}
    assert all(d.split in ("test", validation_by_hash(d.text)) for d in found)
    write(tmp_path / "one" / "dev" / "a.csv", numbered("val"))
    assert splits(documents(tmp_path / "one")) == {"train": {"train"}, "val": {"val"}, "test": {"test"}}
    (tmp_path / "one" / "my_test.csv").unlink()
    assert splits(documents(tmp_path / "one")) == {"train": {"train"}, "val": {"val"}, "test": {"train"}}
    assert splits(documents(str(tmp_path / "one" / "tr*.csv")))["val"] == {"train"}


def test_splits_may_be_said(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "test"):
        write(tmp_path / f"{name}.csv", numbered(name))
    found = documents(tmp_path, train="a.csv", val="b.*")
    assert splits(found) == {"train": {"a"}, "val": {"b"}, "test": {"test"}}
    found = documents(tmp_path, train="a.csv", test=str(tmp_path / "c.csv"))
    assert splits(found) == {"train": {"a"}, "val": {"a"}, "test": {"c"}}
    found = documents(tmp_path)  # those that name no split are the training text where none says train
    assert splits(found) == {"train": {"a", "b", "c"}, "val": {"a", "b", "c"}, "test": {"test"}}


def test_a_test_file_without_labels_is_left_out_and_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], prepared: Callable[..., TextData]
) -> None:
    write(tmp_path / "train.csv", numbered("train"))
    write(tmp_path / "test.csv", [{"text": f"withheld {n}"} for n in range(7)])
    data = prepared(tmp_path)
    assert sum(data.info["documents"].values()) == 60
    assert data.info["dropped"]["without_label"] == 7
    assert "7 without label" in describe(data.info)
    assert "the given test split has no labels; a test split is cut from train" in capfd.readouterr().err


def test_content_and_not_the_path_makes_the_run_id(tmp_path: Path, prepared: Callable[..., TextData]) -> None:
    def identified(path: Path, **values: str) -> tuple[str, str]:
        data, trial = config(path, **values), settings()
        fingerprint = prepared(path, **values).fingerprint
        return data.chosen().identity, run_id(replace(trial, data=data), fingerprint)

    rows = numbered("same")
    first = identified(write(tmp_path / "here" / "a.csv", rows))
    assert identified(write(tmp_path / "there" / "b.csv", rows)) == first
    changed = identified(write(tmp_path / "here" / "a.csv", [*rows[1:], {"text": "same", "label": "no"}]))
    assert changed[0] != first[0]
    assert changed[1] != first[1]
    assert len(list((tmp_path / "prepared").glob("files-*/meta.json"))) == 2


def test_the_shipped_example_is_what_readme_says(prepared: Callable[..., TextData]) -> None:
    data = prepared(ROOT / "tests" / "data" / "own" / "reviews.csv")
    assert data.task.labels == ("complaint", "praise")
    assert sum(data.info["documents"].values()) == 80
