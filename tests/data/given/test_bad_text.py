"""What users bring that cannot be trained on: each is refused in a sentence, or left out and counted."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document
from normtrial.data.statistics import describe
from normtrial.errors import ConfigError
from tests.data.given.conftest import Rows, config, documents, numbered, write
from tests.support import command

GBK = "text,label\n很好的酒店,好\n房间太小,差\n服务好,好\n再也不来,差\n".encode("gbk")
REFUSED: dict[str, tuple[bytes, str]] = {
    "gbk.csv": (
        GBK,
        r"gbk.csv is not UTF-8: byte 0xba in line 2. Perhaps it is gb18030: say data.encoding=gb18030",
    ),
    "latin.csv": (b"text,label\nok,1\ncaf\xe9 noir,0\n", r"latin.csv is not UTF-8: byte 0xe9 in line 3. .*cp1252"),
    "wide.csv": ("text,label\na,1\n".encode("utf-16"), r"is not UTF-8: byte 0x.. in line 1. Perhaps it is utf-16"),
    "cut.jsonl": (
        b'{"text": "a", "label": 1}\n{"text": "b\n',
        r"cut.jsonl, line 2 is not JSON from column 10 on: .*'",
    ),
    "deep.jsonl": (b"[" * 100_000, r"deep.jsonl, line 1 is not JSON"),
    "list.json": (b'[{"text": "a"}]', r"list.json, line 1 is not an object with named columns"),
    "empty.csv": (b"", r"empty.csv is empty: its first line should name the columns"),
    "twice.csv": (b"text,label,text\na,1,b\n", r"twice.csv has several columns of one name: 'text'"),
    "long.csv": (b"text,label\na,b,1\nc,d,0\n", r"the first row has 3 fields, but the header names 2 columns"),
    "later.csv": (b"text,label\na,1\nc,d,0\n", r"later.csv cannot be read: .*Expected 2 fields in line 3, saw 3"),
    "quote.csv": (b'text,label\na,1\n"b,0\n', r"quote.csv cannot be read: .*EOF inside string"),
    "other.csv": (
        b"txt,label\na,1\n",
        r"data.text 'text' does not exist as a column of .*other.csv; did you mean 'txt'",
    ),
    "semicolon.csv": (b"text;label\na;1\n", r"data.text 'text' does not exist .*Allowed: text;label"),
    "nolabel.csv": (b"text,labels\na,1\n", r"data.label 'label' does not exist .*did you mean 'labels'"),
    "nolabel.jsonl": (b'{"text": "a"}\n', r"data.label 'label' does not exist as a column of .*nolabel.jsonl"),
    "several.jsonl": (
        b'{"text": "a", "label": [1, 2]}\n',
        r"data.label='label' holds several values for one document",
    ),
    "torn.parquet": (b"PAR1 torn", r"torn.parquet cannot be read"),
    "mine.docx": (b"PK", r"mine.docx is none of .csv, .*; its suffix says what a file is"),
}


@pytest.mark.parametrize("name", ["gbk.csv", "cut.jsonl", "an empty folder"])
def test_the_command_line_says_it(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    if name in REFUSED:
        place.write_bytes(REFUSED[name][0])
    else:
        place.mkdir()
    given = command(
        "data=files", f"data.path={place}", f"cache={tmp_path / 'cache'}", f"store={tmp_path / 'store'}"
    )
    assert given.code == 1
    assert given.message.startswith("normtrial: ")
    assert re.search(REFUSED.get(name, (b"", "the folder holds no text .*; it is empty"))[1], given.message)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused_in_a_sentence(name: str, tmp_path: Path) -> None:
    content, message = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message) as refused:
        documents(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 700


def test_a_parquet_file_with_a_doubled_column(tmp_path: Path) -> None:
    columns = [pa.array(["a"]), pa.array(["b"]), pa.array([1])]
    pq.write_table(pa.Table.from_arrays(columns, ["text", "text", "label"]), tmp_path / "twice.parquet")
    with pytest.raises(ConfigError, match=r"twice.parquet cannot be read"):
        documents(tmp_path / "twice.parquet")


@pytest.mark.parametrize(
    ("files", "values", "message"),
    [
        ([], {}, r"data.path='.*': the folder holds no text \(.csv, .*\); it is empty\."),
        (["a.docx", ".hidden.csv"], {}, r"the folder holds no text \(.*\), only .hidden.csv, a.docx\."),
        (["a.csv", "b.txt", "c.txt"], {}, r"files of several kinds \(2 .txt, 1 .csv\)\. Choose by a pattern"),
        (["train.csv", "more.csv"], {}, r"some files name their split \(as train.csv\), others none \(more.csv\)"),
        (["val.csv", "test.csv"], {}, r"has no file for training; set data.train"),
        (
            ["a.csv", "b.csv"],
            {"train": "c.csv"},
            r"data.train='.*c.csv': no such file or folder; did you mean '.*.csv'",
        ),
        (
            ["a.txt", "b.txt"],
            {},
            r"the label of a plain text is the name of its folder, and all are in one \(set\)",
        ),
    ],
)
def test_a_folder_is_refused_in_a_sentence(
    files: list[str], values: dict[str, str], message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    for name in files:
        (folder / name).write_text("text,label\na,1\n")
    with pytest.raises(ConfigError, match=message):
        documents(folder, **values)


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").touch()
    with pytest.raises(ConfigError, match=r"no such file or folder; did you mean '.*/reviews.csv'"):
        documents(tmp_path / "review.csv")


ODD: Rows = [
    {"text": None, "label": 1},
    {"text": float("nan"), "label": 1},
    {"text": " \r\n\0", "label": 1},
    {"label": 1},
    {"text": 7, "label": 1},
    {"text": ["a"], "label": 1},
    {"text": "half \ud800", "label": 1},
    {"text": "no label", "label": None},
    {"text": "no label either"},
    {"text": "label of blanks", "label": " "},
    {"text": "not a number", "label": float("nan")},
    {"text": "nul \0 stays readable", "label": 1},
]


def test_cells_that_are_no_text_or_label_are_left_out_and_counted(
    tmp_path: Path, prepared: Callable[..., TextData]
) -> None:
    odd: Rows = [row | {"label": "yes"} if row.get("label") == 1 else row for row in ODD]
    rows = odd[-4:] + numbered("usual") + odd[:-4]
    data = prepared(write(tmp_path / "mine.jsonl", rows))
    assert {reason: count for reason, count in data.info["dropped"].items() if count} == {
        "empty": 4,
        "not_text": 2,
        "not_unicode": 1,
        "without_label": 4,
    }
    assert sum(data.info["documents"].values()) == 61
    assert "dropped: 4 empty, 4 without label, 2 not text, 1 not unicode" in describe(data.info)


def test_labels_written_in_several_ways_are_one(tmp_path: Path, prepared: Callable[..., TextData]) -> None:
    stars = [1, 1.0, "1", "1.0", 2, 2.0, 10, "10", 4.5]
    rows = [{"text": f"text {n}", "label": stars[n % len(stars)]} for n in range(180)]
    data = prepared(write(tmp_path / "mine.jsonl", rows))
    assert data.task.labels == ("1", "2", "4.5", "10")
    for suffix in ("csv", "parquet"):
        floats = [{"text": row["text"], "label": float(row["label"])} for row in rows]
        assert prepared(write(tmp_path / f"mine.{suffix}", floats)).fingerprint == data.fingerprint


def test_a_label_that_training_never_sees_is_left_out_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", numbered("train"))
    write(tmp_path / "val.csv", [*numbered("val", 8), {"text": "a typo", "label": "yess"}])
    found = documents(tmp_path)
    assert [d for d in found if d.dropped] == [Document("", "val", "", "label_not_in_train")]


def test_a_rare_label_that_the_cut_left_without_training_text_is_counted(tmp_path: Path) -> None:
    rare = next({"text": t, "label": "rare"} for t in map(str, range(99)) if is_test_or_val(t))
    found = documents(write(tmp_path / "mine.csv", [rare, *numbered("usual")]))
    assert [d.dropped for d in found if d.dropped] == ["label_not_in_train"]
    assert {d.label for d in found if not d.dropped} == {"no", "yes"}, "no class is left without a document"
    assert len(found) == 61


def is_test_or_val(text: str) -> bool:
    from normtrial.data.sources.source import split_by_hash

    return split_by_hash(text) != "train"


@pytest.mark.parametrize("value", [lambda n: f"id-{n}", lambda n: n / 7], ids=["identifier", "measured"])
def test_a_column_that_holds_no_classes(value: Callable[[int], Any], tmp_path: Path) -> None:
    rows = [{"text": f"text {n}", "label": value(n)} for n in range(100)]
    with pytest.raises(
        ConfigError, match=r"data.label='label' has \d+ different values in .*these are no classes"
    ):
        documents(write(tmp_path / "mine.csv", rows))


def test_a_single_class(tmp_path: Path, prepared: Callable[..., TextData]) -> None:
    rows = [{"text": f"text {n}", "label": "same"} for n in range(60)]
    with pytest.raises(ConfigError, match=r"data=files has a single class \['same'\]: nothing to classify"):
        prepared(write(tmp_path / "mine.csv", rows))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_a_line_of_ten_megabytes_is_read(suffix: str, tmp_path: Path) -> None:
    long = {"text": "a word " * 1_500_000, "label": "yes"}
    found = documents(write(tmp_path / f"mine.{suffix}", [long, *numbered("usual", 4)]))
    assert max(len(document.text) for document in found) == 10_500_000
    assert len(found) == 5


def test_a_line_break_inside_a_character_s_bytes_is_no_line(tmp_path: Path) -> None:
    """Chunks of a million bytes end within characters, and the line that cannot be read is still the right one."""
    lines = [json.dumps({"text": "很" * 99, "label": n % 2}, ensure_ascii=False) for n in range(5_000)]
    path = tmp_path / "mine.jsonl"
    path.write_bytes("\n".join(lines).encode() + b'\n{"text": "\xff"}')
    with pytest.raises(ConfigError, match=r"byte 0xff in line 5001"):
        documents(path)


def test_every_reason_is_in_the_identity_or_the_facts(tmp_path: Path) -> None:
    """What is read of the same file changes the identity, so no prepared text is taken for another."""
    path = write(tmp_path / "mine.csv", [{"text": "a", "label": "b", "other": "c"}])
    changes = [{}, {"text": "other"}, {"label": "other"}, {"encoding": "cp1252"}, {"max_documents": 1}]
    identities = {config(path, **changed).chosen().identity for changed in changes}
    identities |= {config(path, option).chosen().identity for option in ("files", "files_lm")}
    assert len(identities) == len(changes) + 1
