"""The real W&B in offline mode, read back by W&B's own reader."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from normtrial.records import RunFolder
from normtrial.training.sinks import mirror
from normtrial.training.sinks.mirror import WandbSink
from normtrial.training.sinks.record import RecordSink, WandbLogConfig
from tests.support import wandb, wandb_records, wandb_summary

SUMMARY = {
    "run_id": "abc123", "name": "bn-pre-s0", "status": "finished", "reason": None, "steps": 2, "seconds": 1.0,
    "metrics": {"val/accuracy": 0.5, "val/loss_nats": None}, "best": {"val/accuracy": [0.6, 1]},
    "trivial": {"accuracy": 0.2}, "task": "classification", "data": {"name": "bbc"}, "events": {"spike": 1},
    "model": {"parameters": 10}, "sweep": None,
}  # fmt: skip


def start(run_dir: Path, run_id: str = "abc123", mode: str = "offline") -> WandbSink:
    config = WandbLogConfig(mode=mode, project="normtrial-test", group="sweep-1", tags=["a"])
    flat = {"norm.name": "bn", "norm.eps": 1e-5, "data.limit": None}
    return WandbSink(
        config, run_dir=run_dir, run_id=run_id, name="bn-pre-s0", tags=["b"], flat_config=flat,
        meta={"code_hash": "c0de", "versions": {"torch": "2.9"}},
    )  # fmt: skip


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "abc123"
    folder.mkdir()
    sink = start(folder)
    sink.row({"step": 1, "train/loss_nats": 1.5})
    sink.row({"step": 2, "train/loss_nats": math.nan, "grad/global_norm": math.inf, "optim/lr": 1e-3})
    sink.event({"step": 2, "kind": "spike", "site": None, "detail": {}})
    sink.finish(SUMMARY)
    return folder


@pytest.fixture(scope="module")
def records(run_dir: Path) -> dict[str, list[dict]]:
    return wandb_records(run_dir)


def test_leet_shows_config_summary_and_state_of_a_run_folder(run_dir):
    shown = wandb_summary(run_dir)
    assert shown["config"]["norm.eps"] == 1e-5
    assert shown["config"]["meta.versions.torch"] == "2.9"
    summary = shown["summary"]
    assert (summary["val/accuracy"], summary["best/val/accuracy"], summary["trivial.accuracy"]) == (
        0.5,
        0.6,
        0.2,
    )
    assert (shown["state"], shown["exit_code"], shown["name"], shown["run_id"]) == (
        "finished",
        0,
        "bn-pre-s0",
        "abc123",
    )


def test_run_has_group_tags_and_our_step_as_axis(records):
    (run,) = records["run"]
    assert (run["run_group"], run["tags"], run["project"]) == ("sweep-1", ["a", "b"], "normtrial-test")
    text = json.dumps(records["metric"])
    assert '"step_metric": "step"' in text


def test_nonfinite_values_are_counted_and_never_sent(records):
    """B47: an infinite gradient ends no run in W&B's histograms."""
    history = json.dumps(records["history"])
    assert "NaN" not in history
    assert "Infinity" not in history
    assert '"events/nonfinite_values": 2' in history
    assert '"events/spike": 1' in history
    assert "grad/global_norm" not in history


def test_sync_finds_what_a_run_folder_holds(run_dir):
    assert "Would sync 1 run" in wandb("sync", "--dry-run", str(run_dir / "wandb"))


def test_a_resumed_run_keeps_its_id_and_a_crash_its_exit_code(tmp_path):
    code = (
        "import os, sys, pathlib; sys.path.insert(0, sys.argv[1]); import test_mirror\n"
        "test_mirror.start(pathlib.Path(sys.argv[2])).row({'step': 1, 'train/loss_nats': 1.0}); os._exit(9)"
    )
    # Else it would share this process's W&B service, which would hold the run open after the kill.
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path)]
    killed = subprocess.run(command, check=False, env=environment)
    assert killed.returncode == 9
    time.sleep(1.1)  # W&B names a segment by the second, and `leet` does not read the name of a second one in it
    second = start(tmp_path)
    second.row({"step": 1, "train/loss_nats": 1.0})
    second.finish(SUMMARY | {"status": "crashed", "reason": "KeyError"})
    shown = wandb_summary(tmp_path)
    assert (shown["run_id"], shown["exit_code"], shown["summary"]["reason"]) == ("abc123", 1, "KeyError")


def test_a_failing_mirror_warns_once_and_stops(tmp_path, monkeypatch):
    sink = start(tmp_path, run_id="broken1")
    real = sink._run

    class Broken:
        def log(self, values: dict) -> None:
            raise OSError("no space left")

    monkeypatch.setattr(sink, "_run", Broken())
    with pytest.warns(UserWarning, match="no space left"):
        sink.row({"step": 1, "train/loss_nats": 1.0})
    sink.row({"step": 2, "train/loss_nats": 1.0})
    sink.finish(SUMMARY)
    real.finish()


def test_counters_go_on_after_a_resume(tmp_path, monkeypatch):
    record = RecordSink(RunFolder(tmp_path))
    record.row({"step": 1, "train/loss_nats": math.nan, "grad/global_norm": math.inf})
    for step in (1, 2):
        record.event({"step": step, "kind": "spike", "site": None, "detail": {}})
    record.finish({})
    logged: list[dict] = []
    run = SimpleNamespace(log=logged.append, settings=SimpleNamespace(sync_dir=tmp_path))
    monkeypatch.setattr(mirror, "start", lambda *mode, **given: run)
    sink = start(tmp_path)
    sink.event({"step": 3, "kind": "spike", "site": None, "detail": {}})
    sink.row({"step": 3, "train/loss_nats": math.nan})
    assert logged == [{"step": 3, "events/spike": 3}, {"step": 3, "events/nonfinite_values": 3}]
