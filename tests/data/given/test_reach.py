"""No dead switches: every option of a user's text changes what is read; the run id follows what was read."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from normtrial import records
from normtrial.config.schema import Config
from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.user_config import SCHEMAS
from normtrial.identity import run_id
from tests.data.given.conftest import documents, write
from tests.norms.options import settings

CHANGED: dict[str, Any] = {
    "path": "other",
    "text": "title",
    "label": "topic",
    "train": "more.csv",
    "val": "more.csv",
    "test": "more.csv",
    "max_documents": 3,
    "encoding": "cp1252",
    "sample_by": "line",
    "document_start": "text 5",
    "name": "clean",
    "revision": "0" * 40,
}
PUBLISHED = {"train": "more", "val": "more", "test": "more"}  # as splits of a set, not as files
INHERITED = {field.name for schema in (ClassificationConfig, LanguageModelConfig) for field in fields(schema)}
ELSEWHERE = {"streaming"}  # reads the same by another way: test_hub.py watches which
SWITCHES = [
    (option, field.name)
    for option, schema in SCHEMAS.items()
    for field in fields(schema)
    if field.name not in INHERITED | ELSEWHERE
]


def test_every_option_of_a_users_text_is_here() -> None:
    assert {name for _, name in SWITCHES} == CHANGED.keys()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder, word in (("mine", "one"), ("other", "two")):
        for name in ("train", "more"):
            write(
                tmp_path / folder / f"{name}.csv",
                [
                    {"text": f"{word} {name} text {n} é", "title": f"{name} {n}", "label": n % 2, "topic": n % 3}
                    for n in range(40)
                ],
            )
    subsets = [
        f"- config_name: {name}\n  data_files:\n"
        f"  - {{split: train, path: train.csv}}\n  - {{split: {split}, path: more.csv}}"
        for name, split in (("default", "more"), ("clean", "test"))
    ]
    for folder in ("mine", "other"):
        (tmp_path / folder / "README.md").write_text("\n".join(["---", "configs:", *subsets, "---", ""]))
    return tmp_path


def read(option: str, leaf: str, changes: dict[str, Any]) -> Any:
    """Documents of the set as it is configured; for plain text, whose unit is a switch, those of a text file."""
    if leaf == "revision":  # of a set that has one
        return settings(f"data={option}", values={"data.path": "some/set"} | changes).data.chosen().identity
    values = {key.removeprefix("data."): value for key, value in changes.items()}
    path = values.pop("path", "mine")
    if leaf == "sample_by":
        for label in "ab":
            for n in range(9):
                file = Path("plain") / label / f"{n}.txt"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{label}{n}\n{label}{n} again")
        path = "plain"
    elif option.startswith("files") and not {"train", "val", "test"} & values.keys():
        path = f"{path}/train.csv"
    elif option.startswith("files"):
        values = {"train": "train.csv", **values}
    return documents(path, option, **values)


@pytest.mark.parametrize(("option", "leaf"), SWITCHES)
def test_an_option_changes_what_is_read(option: str, leaf: str, place: Path) -> None:
    value = PUBLISHED.get(leaf, CHANGED[leaf]) if option.startswith("hub") else CHANGED[leaf]
    base: dict[str, Any] = {}
    if leaf in ("train", "val", "test") and option.startswith("files"):
        base = {f"data.{'test' if leaf == 'val' else 'val'}": "train.csv"}
    if leaf == "revision":
        base = {"data.revision": "1" * 40}
    assert read(option, leaf, base) != read(option, leaf, base | {f"data.{leaf}": value})


def trial(option: str, changes: dict[str, Any]) -> Config:
    return settings(f"data={option}", values={"data.path": "mine"} | changes)


@pytest.mark.parametrize(("option", "leaf"), [*SWITCHES, ("files", "source"), ("hub", "streaming")])
def test_the_run_id_follows_what_was_read_and_not_where_it_was(option: str, leaf: str) -> None:
    changed = trial(option, {f"data.{leaf}": CHANGED.get(leaf, True if leaf == "streaming" else "named")})
    same_text = run_id(changed, "read") == run_id(trial(option, {}), "read")
    where = f"data.{leaf}" in records.FOUND_BY_CONTENT or not records.is_scientific(f"data.{leaf}")
    assert same_text == where
    assert run_id(changed, "read") != run_id(changed, "something else")
