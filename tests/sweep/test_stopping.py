"""A sweep that is stopped loses nothing, and goes on by the same command."""

import os
import signal
from pathlib import Path

import pytest

from normtrial.records import list_runs
from tests.support import answer
from tests.sweep.processes import LONGER, TWO, assert_trained_once, finished, notes, running, start_sweep, until

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("everybody", [True, False], ids=["Ctrl-C", "SIGTERM to the sweep"])
def test_running_jobs_keep_their_state_and_no_other_begins(everybody: bool, cache: Path, tmp_path: Path) -> None:
    store, folder = tmp_path / "store", tmp_path / "sweep"
    typed = [*LONGER, TWO, "train.checkpoint_every=1000", "norm=bn,ln", "seed=0,1,2"]
    sweep = start_sweep(store, cache, folder, *typed)
    until(lambda: len(running(store, folder, 10)) == 2, sweep)
    if everybody:
        os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does
    else:
        sweep.send_signal(signal.SIGTERM)
    stopped = answer(sweep)
    assert stopped.code == 130, stopped.err
    assert "Traceback" not in stopped.err
    assert "the same command goes on" in stopped.err
    began = notes(folder)
    assert "interrupted" in {note["status"] for note in began}
    assert len(began) < 6
    steps = {run.run_id: len(run.read_metrics()) for run in list_runs(store)}

    again = answer(start_sweep(store, cache, tmp_path / "again", *typed), timeout=300)
    assert again.code == 0, again.err
    assert len(finished(store)) == 6
    for run in finished(store):
        assert_trained_once(run)
        if steps.get(run.run_id):
            assert "resuming run" in run.log_path.read_text() or steps[run.run_id] >= 160


def test_on_failure_stop_begins_no_more_and_continue_does(cache: Path, tmp_path: Path) -> None:
    """A run with more length buckets than its validation split has examples ends when its data are known."""
    typed = [TWO, "seed=0,1,2,3,4,5", 'sweep.arms=["norm=ln eval.length_buckets=17","norm=bn"]']
    store = tmp_path / "store"
    stopped = answer(start_sweep(store, cache, tmp_path / "stop", *typed, "sweep.on_failure=stop"), timeout=300)
    assert stopped.code == 1
    assert "runs failed, and the sweep was stopped with " in stopped.message
    assert len(finished(store)) < 6

    went_on = answer(start_sweep(store, cache, tmp_path / "continue", *typed), timeout=300)
    assert went_on.code == 1
    assert went_on.message.startswith("normtrial: 6 of 12 runs failed; ")
    assert len(finished(store)) == 6
    listed = [
        line for line in went_on.err.splitlines() if line.startswith("ln-pre-s") and " crashed: log=file " in line
    ]
    assert len(listed) == 6
    assert all("ConfigError: eval.length_buckets=17 is more than the val split" in line for line in listed)
    crashed = [note for note in notes(tmp_path / "continue") if note["status"] == "crashed"]
    for note in crashed:
        assert "ConfigError" in (tmp_path / "continue" / str(note["number"]) / "traceback.txt").read_text()
        assert "ConfigError" in (store / note["run_id"] / "log.txt").read_text()
