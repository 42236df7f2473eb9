"""Nobody's death costs a finished number, or anybody else a step: trainers, workers and the sweep itself."""

import os
import signal
from pathlib import Path

import pytest

from normtrial.records import list_runs
from tests.support import answer
from tests.sweep.processes import (
    LONGER,
    TWO,
    assert_trained_once,
    finished,
    notes,
    running,
    start_sweep,
    until,
)

pytestmark = pytest.mark.slow


def test_24_runs_through_three_kills(cache: Path, tmp_path: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "sweep"
    long = [*LONGER[2:], "train.steps=1500", "train.eval_every=500"]
    typed = [*long, TWO, "norm=bn,ln,rms", "seed=0,1,2,3,4,5,6,7"]
    sweep = start_sweep(store, cache, folder, *typed)

    victim, other = until(lambda: two if len(two := running(store, folder, 30)[:2]) == 2 else None)
    os.kill(victim["pid"], signal.SIGKILL)  # what trains
    until(lambda: len(finished(store)) >= 4, sweep)
    assert {note["status"] for note in notes(folder) if note["number"] == other["number"]} == {"finished"}

    worker = until(lambda: workers(sweep.pid), sweep)[0]
    until(lambda: running(store, folder, 30), sweep)
    os.kill(worker, signal.SIGKILL)  # a process of joblib's pool
    until(lambda: len(finished(store)) >= 12, sweep)

    # One far from its end: a worker sees within 0.5 s that the sweep is dead, and what trains 0.2 s later.
    until(lambda: running(store, folder, 30, most=200), sweep)
    sweep.kill()  # the sweep
    with sweep:  # closes its pipes, which workers without work still hold
        sweep.wait()
    until(lambda: not running(store, folder, 0))
    assert "interrupted" in {note["status"] for note in notes(folder)}, f"what trained: {notes(folder)}"

    again = answer(start_sweep(store, cache, tmp_path / "again", *typed), timeout=400)
    assert again.code == 0, again.err
    assert len(finished(store)) == 24
    assert len(list_runs(store)) == 24
    for run in finished(store):
        assert_trained_once(run, most_lost=12 + 20 if run.run_id == victim.get("run_id") else 0)
    assert "24/24 done" in again.err


def workers(pid: int) -> list[int]:
    """Children of a process that train, or wait to."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes()]
