"""`data=hub`: on folders laid out like repositories of the Hub, which go the way of the Hub's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import ClassLabel, Dataset, Features, Value

from normtrial.data.dataset import TextData
from normtrial.errors import ConfigError
from tests.data.given.conftest import config, documents

LABELS = Features({"sentence": Value("string"), "label": ClassLabel(names=["negative", "positive"])})
TEST_0 = " = test 0 = \n\n raw words \n = = part = = \n more "
LIKE_SST2 = {"train": 60, "validation": 20, "test": 10}


@pytest.fixture
def sst2(tmp_path: Path) -> Path:
    """Indices of classes, and -1 where the published test split withholds them."""
    for split, count in LIKE_SST2.items():
        labels = [-1 if split == "test" else number % 2 for number in range(count)]
        texts = [f"{split} text number {number}" for number in range(count)]
        rows = Dataset.from_dict({"sentence": texts, "label": labels}, features=LABELS)
        place = tmp_path / "sst2" / "data" / f"{split}-00000-of-00001.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        rows.to_parquet(str(place))
    return tmp_path / "sst2"


@pytest.fixture
def two_subsets(tmp_path: Path) -> Path:
    folder = tmp_path / "two"
    lines = ["---", "configs:"]
    for name in ("raw", "clean"):
        (folder / name).mkdir(parents=True)
        for split in ("train", "test"):
            text = "".join(f" = {split} {n} = \n\n {name} words \n = = part = = \n more \n" for n in range(20))
            (folder / name / f"{split}.txt").write_text(text)
        lines += [f"- config_name: {name}", f"  data_files: {name}/*.txt"] if name == "clean" else []
        lines += (
            [f"- config_name: {name}", "  data_files:"]
            + [f"  - {{split: {split}, path: {name}/{split}.txt}}" for split in ("train", "test")]
            if name == "raw"
            else []
        )
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return folder


def test_the_shipped_option_takes_validation_for_test(sst2: Path, prepared: Callable[..., TextData]) -> None:
    data = prepared(sst2, "sst2")
    assert data.task.labels == ("negative", "positive")
    assert data.info["documents"]["test"] == 20
    assert sum(data.info["documents"].values()) == 80
    assert not any(data.info["dropped"].values())


@pytest.mark.parametrize("streaming", [False, True])
def test_a_test_split_without_labels_is_left_out_and_counted(
    streaming: bool, sst2: Path, prepared: Callable[..., TextData], capfd: pytest.CaptureFixture[str]
) -> None:
    data = prepared(sst2, "hub", text="sentence", streaming=streaming)
    assert data.info["dropped"]["without_label"] == 10
    assert data.info["documents"]["val"] == 20
    assert "the given test split has no labels" in capfd.readouterr().err


def test_streaming_reads_the_same_by_the_library_s_stream(sst2: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    load = datasets.load_dataset

    def watched(*args: Any, **options: Any) -> Any:
        asked.append(options["streaming"])
        return load(*args, **options)

    monkeypatch.setattr(datasets, "load_dataset", watched)
    read = [documents(sst2, "sst2", streaming=streaming) for streaming in (False, True)]
    assert read[0] == read[1]
    assert asked == [False, True]
    assert [d.text for d in documents(sst2, "sst2", max_documents=3)].count("train text number 3") == 0


def test_subsets_and_rows_joined_to_documents(two_subsets: Path) -> None:
    found = documents(two_subsets, "wikitext2", name="raw")
    assert {d.split for d in found} == {"train", "val", "test"}
    assert next(d.text for d in found if d.split == "test") == TEST_0
    assert len(found) == 40
    assert len(documents(two_subsets, "hub_lm", name="clean")) == 200


def test_content_is_the_identity_of_a_folder(sst2: Path) -> None:
    before = config(sst2, "sst2").chosen().identity
    assert config(sst2.rename(sst2.parent / "moved"), "sst2").chosen().identity == before
    assert config(sst2.parent / "moved", "sst2", test=None).chosen().identity != before
    (sst2.parent / "moved" / "README.md").write_text("changed")
    assert config(sst2.parent / "moved", "sst2").chosen().identity != before


def test_a_commit_needs_no_network_to_be_known() -> None:
    assert "a" * 40 in config("some/set", "hub", revision="a" * 40).chosen().identity


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test": "valid"}, "data.test 'valid' does not exist as a split of .*did you mean 'validation'"),
        (
            {"text": "sentences"},
            "data.text 'sentences' does not exist as a column of the split train; did you mean",
        ),
        ({"label": "labels"}, "data.label 'labels' does not exist as a column of the split train; did you mean"),
        ({"name": "defaults"}, "data.name 'defaults' does not exist in .*; did you mean 'default'"),
    ],
)
def test_an_unknown_name(changes: dict[str, str], message: str, sst2: Path) -> None:
    with pytest.raises(ConfigError, match=message):
        documents(sst2, "hub", **{"text": "sentence", **changes})


def test_a_subset_must_be_chosen_where_there_are_several(two_subsets: Path) -> None:
    with pytest.raises(ConfigError, match=r"has several subsets; set data.name: (raw, clean|clean, raw)\."):
        documents(two_subsets, "hub_lm")


@pytest.mark.parametrize("option", ["imdb", "ag_news", "sst2", "wikitext2", "wikitext103", "tinystories"])
def test_without_a_network_the_hub_cannot_be_reached(option: str, prepared: Callable[..., TextData]) -> None:
    path = config("x", option).chosen()  # the option's own id is put back below
    assert path.name == option
    with pytest.raises(
        ConfigError, match=f"data={option}, data.path='no/set': the Hub cannot be reached.*local folder"
    ):
        prepared("no/set", option)


def test_a_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="doesn't contain any data files"):
        documents(tmp_path, "hub")
