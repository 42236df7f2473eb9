"""Local runs mirrored afterwards: as if they had been mirrored while training, once, and whole."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.dashboard.replay import NOTE
from normtrial.errors import ConfigError
from normtrial.records import RunFolder, list_runs, lock
from tests.dashboard.conftest import PROJECT, sync
from tests.report.conftest import Factory
from tests.support import MEASURED, ROOT, wandb_records, wandb_summary


def sessions(folder: RunFolder) -> list[Path]:
    return sorted((folder.path / "wandb").glob("offline-run-*"))


def written(store: Path) -> dict[Path, int]:
    """When each file was; but for the W&B client's own log, which its process closes when it likes."""
    files = (path for path in store.rglob("*") if path.name not in (".lock", "debug-core.log"))
    return {path: path.stat().st_mtime_ns for path in files}


def history(folder: Path) -> list[dict[str, Any]]:
    return [record["item"] for record in wandb_records(folder)["history"]]


def test_each_ended_run_is_mirrored_once(
    make: Callable[..., RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tmp_path / "runs"
    folder = make("gone", norm="bn", status="diverged", die_at=100, seed=1)
    folder.write_json("meta.json", folder.read_meta() | {"sweep": "of-two"})
    make("open", ended=False)
    Factory(store)("live")
    make("other", norm="ln")
    assert sync(store, "norm=bn") == 0
    assert capsys.readouterr().out.splitlines() == [
        f"mirrored: {folder.path}",
        "1 run mirrored, 1 mirrored while training (wandb sync <run>/wandb), 1 not ended",
    ]
    before = written(store)
    assert sync(store, "norm=bn") == 0
    assert capsys.readouterr().out.startswith("1 run mirrored before, ")
    assert written(store) == before
    shown = wandb_summary(folder.path)
    assert (shown["run_id"], shown["name"], shown["exit_code"]) == ("gone", "bn-pre-s1", 0)
    assert (shown["summary"]["status"], shown["config"]["arm"]) == ("diverged", "bn pre")
    assert shown["config"]["norm.eps"] == 1e-5
    (told,) = wandb_records(folder.path)["run"]
    assert (told["run_group"], told["project"]) == ("of-two", PROJECT)
    items = history(folder.path)
    (last,) = (item for item in items if item["step"] == 100 and "events/nonfinite_values" in item)
    assert last["events/nonfinite_values"] == sum(len(row.get("nonfinite", ())) for row in folder.read_metrics())
    assert [item["events/nonfinite_loss"] for item in items if "events/nonfinite_loss" in item] == [1]
    assert not any(name.startswith("nonfinite") for item in items for name in item)
    assert [item["step"] for item in items] == sorted(item["step"] for item in items)


def test_another_record_under_the_same_id_is_mirrored_again(
    make: Callable[..., RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make("r0", norm="ln")
    sync(tmp_path / "runs")
    time.sleep(1.1)  # W&B names a session by the second
    make("r0", norm="ln", final=0.6)
    sync(tmp_path / "runs")
    assert capsys.readouterr().out.count("1 run mirrored\n") == 2
    assert len(sessions(folder)) == 2


def test_a_run_in_training_is_left_alone(
    make: Callable[..., RunFolder], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make("r0")
    with lock(folder.path / ".lock"):
        sync(tmp_path / "runs")
    assert capsys.readouterr().out == "1 run being trained\n"
    assert not (folder.path / "wandb").exists()


def test_a_kill_leaves_nothing_that_looks_whole_and_the_same_command_mends_it(
    make: Callable[..., RunFolder], tmp_path: Path
) -> None:
    folder = make("r0", norm="ln")
    code = (
        "import os, sys; from normtrial.dashboard import replay\n"
        "row = replay.WandbSink.row\n"
        "def killed(sink, line):\n"
        "    os._exit(9) if line['step'] > 50 else row(sink, line)\n"
        "replay.WandbSink.row = killed\n"
        "from normtrial.dashboard.command import main; main(sys.argv[1:])"
    )
    arguments = ["sync", "--store", str(tmp_path / "runs"), "--project", PROJECT]
    # Else it would share this process's W&B service, which would hold the run open after the kill.
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}
    killed = subprocess.run([sys.executable, "-c", code, *arguments], check=False, env=environment, cwd=ROOT)
    assert killed.returncode == 9
    assert (folder.path / ".mirror" / NOTE).exists()
    assert sessions(folder) == []
    assert sync(tmp_path / "runs") == 0
    (session,) = sessions(folder)
    assert not (folder.path / ".mirror").exists()
    losses = [item["step"] for item in history(session) if "train/loss_nats" in item]
    assert losses == [row["step"] for row in folder.read_metrics() if "train/loss_nats" in row]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mode", "onlin"], "--mode 'onlin' does not exist; did you mean 'online'?"),
        (["--project", " "], "log.project is empty"),
        (["norm=lm"], "norm 'lm' does not exist in these runs"),
    ],
)
def test_mistakes(arguments: list[str], message: str, make: Callable[..., RunFolder], tmp_path: Path) -> None:
    make("r0", norm="ln")
    make("r1", norm="bn")
    with pytest.raises(ConfigError) as raised:
        sync(tmp_path / "runs", *arguments)
    assert str(raised.value).startswith(message)


def without_clock(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    apart = (*MEASURED, "_")
    told = [{name: value for name, value in item.items() if not name.startswith(apart)} for item in items]
    return sorted(told, key=lambda item: (item["step"], json.dumps(item, sort_keys=True)))


@pytest.mark.slow
def test_it_is_what_training_would_have_sent(
    trial: Callable[..., Config],
    train: Callable[[Config], float | None],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A run interrupted and resumed without W&B against the undisturbed one with it: one run, the same."""
    changes = ("norm=bn", "train.checkpoint_every=4", "optim.lr=1e-9", "train.eval_every=1")
    live = trial(*changes, "log=wandb", f"log.project={PROJECT}", f"store={tmp_path / 'live'}")
    train(live)
    later = trial(*changes)
    step = run.Loop._step
    with monkeypatch.context() as patch:
        patch.setattr(run.Loop, "_step", lambda loop, at: step(loop, at) if at < 6 else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(later)
    train(later)
    assert sync(Path(later.store)) == 0
    ours, theirs = list_runs(later.store)[0], list_runs(live.store)[0]
    assert len(sessions(ours)) == 1
    assert without_clock(history(ours.path)) == without_clock(history(theirs.path))
    mirrored, lived = wandb_summary(ours.path), wandb_summary(theirs.path)
    for key in ("run_id", "name", "state", "exit_code"):
        assert mirrored[key] == lived[key]
    told = [
        {k: v for k, v in one["config"].items() if not k.startswith(("log", "store", "meta"))}
        for one in (mirrored, lived)
    ]
    assert told[0] == told[1]
    apart = (*MEASURED, "_", "seconds")
    summaries = [
        {k: v for k, v in one["summary"].items() if not any(k.removeprefix("best/").startswith(a) for a in apart)}
        for one in (mirrored, lived)
    ]
    assert summaries[0] == summaries[1]
    (one,), (other,) = (wandb_records(folder.path)["run"] for folder in (ours, theirs))
    for key in ("project", "display_name", "run_group", "tags"):
        assert one.get(key) == other.get(key)
