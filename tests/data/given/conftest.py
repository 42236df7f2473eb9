"""A user's text as tests write it, and what is read of it."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
from datasets import Dataset

from normtrial.data import catalogue
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document
from tests.norms.options import settings

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No bars, no copies outside the test's folder, no network."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path_factory.mktemp("hf"))
    for module in ("datasets.config", "huggingface_hub.constants"):
        monkeypatch.setattr(f"{module}.HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def write(path: Path, rows: Rows) -> Path:
    """The rows in the format that the suffix names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        Dataset.from_list(rows).to_parquet(str(path))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            table.writeheader()
            table.writerows(rows)
    return path


def numbered(prefix: str, count: int = 60) -> Rows:
    return [{"text": f"{prefix} text number {n}", "label": ("no", "yes")[n % 2]} for n in range(count)]


def config(path: Path | str, option: str = "files", **values: Any) -> Any:
    """What `data=<option> data.path=<path> …` configures."""
    return settings(
        f"data={option}", values={"data.path": str(path)} | {f"data.{k}": v for k, v in values.items()}
    ).data


def documents(path: Path | str, option: str = "files", **values: Any) -> list[Document]:
    """All that is read, in the order of the file."""
    return list(config(path, option, **values).chosen().documents(Path("unused")))


@pytest.fixture
def prepared(tmp_path: Path) -> Callable[..., TextData]:
    """The whole way to batches."""
    small = {"batch_size": 2, "max_len": 8, "vocab_size": 300}
    return lambda path, option="files", **values: catalogue.load(
        config(path, option, **{**small, **values}), tmp_path / "prepared"
    )
