"""Real sweeps in real processes, watched through the files they leave."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from normtrial.records import RunFolder, list_runs, read_json
from tests.support import ROOT, TINY

# Long enough for a signal to find it at work, a checkpoint behind it.
LONGER = ["train.steps=160", "train.eval_every=80", "train.checkpoint_every=20", "model.dropout=0.3"]
TWO = "hydra.launcher.n_jobs=2"


def start_sweep(store: Path, cache: Path, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`python train.py -m …` in the tiniest form, as a terminal starts it: with a process group of its own."""
    places = (f"cache={cache}", f"store={store}", f"hydra.sweep.dir={folder}")
    return subprocess.Popen(
        [sys.executable, str(ROOT / "train.py"), "-m", *TINY, *places, *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200"},
        process_group=0,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def notes(folder: Path) -> list[dict[str, Any]]:
    """What the jobs of a sweep have left, by number."""
    paths = sorted(folder.glob("*/job.json"), key=lambda path: int(path.parent.name))
    return [note for path in paths if (note := read_json(path))]


def running(store: Path, folder: Path, steps: int, most: float = float("inf")) -> list[dict[str, Any]]:
    """The notes of jobs that have taken so many steps, not more than `most`, and not yet ended."""
    found = [
        note for note in notes(folder) if note["status"] == "running" and Path(f"/proc/{note['pid']}").exists()
    ]
    return [note for note in found if steps <= len(rows_of(store, note)) <= most]


def rows_of(store: Path, note: dict[str, Any]) -> list[dict[str, Any]]:
    """Logged rows of the run that a job is at."""
    return RunFolder(store / run_of(store, note)).read_metrics()


def run_of(store: Path, note: dict[str, Any]) -> str:
    """The run id of a job that may not have said it yet: by its seed and norm."""
    typed = dict(word.split("=", 1) for word in note["command"].split())
    for folder in list_runs(store):
        meta = folder.read_meta()
        if meta.get("name") == f"{typed.get('norm', 'ln')}-pre-s{typed.get('seed', '0')}":
            return folder.run_id
    return "none yet"


def finished(store: Path) -> list[RunFolder]:
    """Runs with a summary that says so."""
    return [run for run in list_runs(store) if (run.read_summary() or {}).get("status") == "finished"]


def until(condition: Callable[[], Any], process: subprocess.Popen[str] | None = None, timeout: float = 120) -> Any:
    """What the condition gives once it holds."""
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        assert time.monotonic() < deadline, "in vain"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)
    return found


def assert_trained_once(run: RunFolder, most_lost: int = 0) -> None:
    """Its log tells one way from the first step to the last: a later process goes on where a checkpoint stands.

    Args:
        run: a finished run.
        most_lost: steps that a kill may have cost, which were taken again.
    """
    summary = run.read_summary()
    assert summary is not None
    steps = [row["step"] for row in run.read_metrics() if "train/loss_nats" in row]
    assert steps == list(range(1, summary["steps"] + 1)), "each step logged once"
    log = run.log_path.read_text(encoding="utf-8")
    assert log.count(f"{summary['name']} finished") == 1, log
    at, taken_twice = 0, 0
    for line in log.splitlines():
        if resumed := re.match(r"resuming run \w+ after step (\d+)", line):
            at = int(resumed[1])
        elif told := re.match(rf"{summary['name']} +(\d+)/{summary['steps']}  loss", line):
            taken_twice += max(at + 1 - int(told[1]), 0)
            at = int(told[1])
    assert taken_twice <= most_lost, log
