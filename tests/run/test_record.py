"""What a run leaves in its folder, and what the same command does the second time."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from normtrial import assemble, identity, records, run
from normtrial.config import Config, as_dict
from normtrial.records import STATUSES, RunFolder, list_runs
from normtrial.training.metrics import METRICS, find
from normtrial.training.sinks.record import leaves
from tests.support import SOTU, TINY, answer, comparable, start_process

Trial = Callable[..., Config]
Train = Callable[[Config], float | None]
BOTH = pytest.mark.parametrize("data", [["data=bbc"], SOTU], ids=["bbc", "sotu"])


@BOTH
def test_the_same_command_twice_gives_the_same_numbers(
    data: list[str], trial: Trial, train: Train, tmp_path: Path
) -> None:
    stores = [tmp_path / name for name in "ab"]
    values = []
    for store in stores:
        torch.rand(3)  # whatever the random generator did before
        values.append(train(trial(*data, "norm=bn", f"store={store}")))
    first, second = (list_runs(store)[0] for store in stores)
    assert first.run_id == second.run_id
    assert values[0] == values[1] is not None
    rows = comparable(first)
    assert rows == comparable(second)
    assert [row["step"] for row in rows if "train/loss_nats" in row] == [1, 2, 3, 4, 5, 6]
    assert [row["step"] for row in rows if "val/loss_nats" in row] == [3, 6]
    assert [row["step"] for row in rows if "test/loss_nats" in row] == [6]


@BOTH
def test_a_run_leaves_a_whole_record_and_logs_only_what_the_table_lists(
    data: list[str], trial: Trial, train: Train
) -> None:
    config = trial(*data, "norm=bn", "placement=post")
    value = train(config)
    (folder,) = list_runs(config.store)
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["status"], summary["reason"], summary["steps"]) == ("finished", None, 6)
    assert summary["name"] == "bn-post-s0"
    assert summary["task"] == ("lm" if data is SOTU else "classification")
    assert summary["metrics"]["val/loss_nats" if data is SOTU else "val/accuracy"] == value
    assert 0 < summary["model"]["norm_parameters"] < summary["model"]["parameters"]
    assert summary["trivial"]["loss_nats"] > 0
    assert summary["data"]["examples"]["train"] == 16
    assert OmegaConf.to_container(OmegaConf.create(folder.config_text())) == as_dict(config)
    meta = folder.read_meta()
    assert meta["run_id"] == folder.run_id == summary["run_id"]
    assert meta["code_hash"] == identity.code_hash()
    assert "torch" in meta["versions"]
    assert not (folder.path / "checkpoint").exists(), "nothing is left to resume"

    names = {name for row in folder.read_metrics() for name in row} - {"step"}
    unknown = {name for name in names if find(name) is None}
    assert not unknown
    expected = {"grad/block00.norm1/norm", "grad/block00.attention/norm", "grad/block00.mlp/norm", "optim/lr"}
    expected |= {
        "val/loss_nats_se",
        "val/batch_stats/loss_nats",
        "test/loss_nats",
        "time/step_s",
        "memory/peak_mib",
    }
    assert expected <= names
    task = summary["task"]
    for metric in METRICS:
        if metric.function is not None and metric.task in (None, task):
            assert metric.pattern.replace("<split>", "val") in names


@BOTH
def test_the_facts_of_the_text_reach_the_summary_and_wandb(
    data: list[str], trial: Trial, train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}

    class Mirror:
        def __init__(self, *_: object, flat_config: dict[str, Any], **__: object):
            told.update(flat_config)

        row = event = finish = lambda self, _: None

    monkeypatch.setattr(assemble, "WandbSink", Mirror)
    config = trial(*data, "log=wandb")
    train(config)
    (folder,) = list_runs(config.store)
    facts = (folder.read_summary() or {})["data"]
    expected = {"length_tokens", "truncated_share", "padding_share", "dropped", "documents", "examples", "tokens"}
    assert expected | ({"classes"} if data == ["data=bbc"] else set()) <= set(facts)
    flat = dict(leaves({"text": facts}))
    assert {f"text.dropped.{reason}" for reason in ("empty", "duplicates", "conflicting_labels")} <= set(flat)
    assert {f"text.length_tokens.{name}" for name in ("median", "p95", "max")} <= set(flat)
    assert ("text.classes.business" in flat) is (data == ["data=bbc"])
    arm = {"arm": "ln pre"}
    assert told == arm | flat | dict(leaves(as_dict(config))), (
        "as W&B's configuration, to filter and group runs by"
    )


def test_a_made_up_metric_is_not_in_the_table() -> None:
    for name in (
        "val/f2",
        "train/accuracy",
        "grad/norm",
        "val/batch_stats",
        "grad//norm",
        "x/val/accuracy",
        "step",
    ):
        assert find(name) is None


def test_a_norm_without_running_statistics_is_evaluated_once(trial: Trial, train: Train) -> None:
    config = trial("norm=ln", "probe=none", "train.log_every=4")
    train(config)
    (folder,) = list_runs(config.store)
    names = {name for row in folder.read_metrics() for name in row}
    assert not any("batch_stats" in name for name in names)
    assert not any(name.startswith("grad/block") for name in names)
    assert [row["step"] for row in folder.read_metrics() if "optim/lr" in row] == [1, 4, 6]


def test_a_finished_run_is_skipped_and_says_so(
    trial: Trial, train: Train, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    value = train(trial())
    (folder,) = list_runs(trial().store)
    (folder.path / "curves.png").touch()  # else it is drawn
    before = {path.name: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    capsys.readouterr()
    again = train(trial("log.mode=offline", "log=wandb", "train.log_every=2", "device=cpu"))
    out = capsys.readouterr().out
    assert again == value
    assert f"run {folder.run_id} (ln-pre-s0) is finished already: {folder.path}" in out
    assert "changed" not in out
    assert {path.name: path.stat().st_mtime_ns for path in folder.path.iterdir()} == before

    monkeypatch.setattr(identity, "code_hash", lambda: "another")
    assert train(trial()) == value
    assert "The code has changed since; rerun=true trains it again." in capsys.readouterr().out


def test_rerun_trains_again_and_keeps_the_old_record(trial: Trial, train: Train) -> None:
    train(trial())
    (folder,) = list_runs(trial().store)
    old = folder.metrics_path.read_bytes()
    train(trial("rerun=true"))
    assert folder.metrics_path.read_bytes() != old, "times differ"
    (kept,) = (folder.path.parent / ".superseded").iterdir()
    assert (kept / "metrics.jsonl").read_bytes() == old
    assert comparable(RunFolder(kept)) == comparable(folder)
    assert [run.path for run in list_runs(trial().store)] == [folder.path]


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ("norm.eps=1.0e-5", True),
        ("train.log_every=2", True),
        ("train.checkpoint_every=2", True),
        ("probe=none", True),
        ("device=cpu", True),
        ("wait=true", True),
        ("train.checkpoint_seconds=60", True),
        ("model.checkpoint_activations=true", True),
        ("train.accumulate=2", False),
        ("norm.eps=1e-4", False),
        ("norm=rms", False),
        ("placement=post", False),
        ("seed=1", False),
        ("train.steps=7", False),
        ("data.limit=12", False),
        ("optim.lr=2e-3", False),
        ("precision=bf16", False),
        ("model.dropout=0.2", False),
    ],
)
def test_the_run_id_changes_with_science_only(change: str, same: bool, trial: Trial) -> None:
    usual = identity.run_id(trial(), "text")
    assert (identity.run_id(trial(change), "text") == usual) is same
    assert identity.run_id(trial(), "other text") != usual


def test_a_run_in_another_process_is_left_alone(trial: Trial, train: Train, cache: Path, tmp_path: Path) -> None:
    """We hold the lock; a real second process says so and leaves without touching the folder."""
    config = trial()
    train(config)  # prepares the text and tells the run id
    (folder,) = list_runs(config.store)
    (folder.path / "summary.json").unlink()
    before = sorted(path.name for path in folder.path.iterdir())
    with records.lock(folder.path / ".lock") as mine:
        assert mine
        second = answer(start_process(*TINY, f"cache={cache}", f"store={config.store}"))
    assert second.code == 0
    assert f"run {folder.run_id} is being trained by another process; leaving it alone." in second.out
    assert sorted(path.name for path in folder.path.iterdir()) == before
    assert train(config) is not None, "and afterwards the lock is free"


def test_a_crash_is_recorded_and_taken_up_again(
    trial: Trial, train: Train, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A crash two steps behind a checkpoint leaves rows that are cut off on resuming."""
    undisturbed = trial("norm=ln", f"store={tmp_path / 'undisturbed'}")
    train(undisturbed)
    config = trial("norm=ln", "train.checkpoint_every=2")
    with monkeypatch.context() as patch:
        step = run.Loop._step
        patch.setattr(run.Loop, "_step", lambda loop, at: step(loop, at) if at < 6 else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(config)
    (folder,) = list_runs(config.store)
    summary = json.loads((folder.path / "summary.json").read_text(encoding="utf-8"))
    assert summary["status"] == "crashed" in STATUSES
    assert summary["reason"] == "ZeroDivisionError: division by zero"
    assert summary["steps"] == 5
    assert folder.read_metrics()[-1]["step"] == 5
    train(config)
    summary = folder.read_summary()
    assert summary is not None
    assert summary["status"] == "finished"
    assert comparable(folder) == comparable(list_runs(undisturbed.store)[0])
