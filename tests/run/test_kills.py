"""SIGKILL at any moment: the same command, typed until it is done, ends with the files of an undisturbed run."""

import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normtrial.config import Config
from normtrial.records import RunFolder, list_runs, read_json_lines
from tests.support import MEASURED, TINY, comparable, start_process

SLOW_DISK = Path(__file__).parent / "slow_disk.py"
EVAL_EVERY = 8
# A rate too small to learn anything by: a plateau, so that there is an event to lose or to have twice.
TRIAL = [
    *(*TINY, "norm=bn", "model.dropout=0.3", "data.limit=120", "train.steps=32", f"train.eval_every={EVAL_EVERY}"),
    *("train.checkpoint_every=3", "optim.warmup_steps=2", "optim.lr=1e-6"),
]
PHASES = ("training", "evaluation", "checkpoint", "anywhere", "summary")
PATIENCE_S = 60.0


class Watch:
    """One process at work on a run, seen from outside by the files that it writes."""

    def __init__(self, store: Path, process: subprocess.Popen[str]):
        self.store, self.process, self.begun = store, process, time.time_ns()

    @property
    def folder(self) -> RunFolder | None:
        """The only run, as soon as there is one."""
        return next(iter(list_runs(self.store)), None)

    def fresh(self, pattern: str) -> bool:
        """Whether this process (and none before) has written such a file."""
        for path in self.store.glob(f"*/{pattern}"):
            try:
                if path.stat().st_mtime_ns > self.begun:
                    return True
            except FileNotFoundError:
                continue
        return False

    def phase(self) -> str:
        """What the process is at, or was when it was killed."""
        if self.fresh(".summary.json.*") or self.fresh("summary.json"):
            return "summary"
        if self.fresh("checkpoint/*.part"):
            return "checkpoint"
        if not self.fresh("metrics.jsonl") or self.folder is None:
            return "start"
        rows = read_json_lines(self.folder.metrics_path)
        last = rows[-1] if rows else {}
        due = last.get("step", 1) % EVAL_EVERY == 0 and "train/loss_nats" in last
        return "evaluation" if due else "training"

    def kill_in(self, phase: str, dice: random.Random) -> str | None:
        """Kill the process in a phase; the phase that it was in, or None where it had ended by itself."""
        delay = dice.uniform(0, 0.03)
        deadline = time.monotonic() + PATIENCE_S
        skipped = dice.randrange(3)  # of the moments at which the phase was seen to begin
        seen = before = "start"
        while time.monotonic() < deadline and self.process.poll() is None:
            if phase == "anywhere" and self.fresh("meta.json"):
                time.sleep(dice.uniform(0, 1.5))
                break
            before, seen = seen, self.phase()
            if seen == phase and before != phase:
                skipped -= 1
                if skipped < 0 or phase in ("summary", "evaluation"):
                    time.sleep(delay)
                    break
            time.sleep(0.001)
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        return self.phase() if self.process.returncode == -signal.SIGKILL else None


def result(folder: RunFolder) -> dict[str, Any]:
    """All that a run leaves, without what is measured by the clock."""
    summary = folder.read_summary()
    assert summary is not None
    assert len(summary["model"]["weights_sha256"]) == 64
    summary["metrics"] = {k: v for k, v in summary["metrics"].items() if not k.startswith(MEASURED)}
    del summary["seconds"]
    return {
        "summary": summary,
        "rows": comparable(folder),
        "events": folder.events_path.read_bytes(),
        "files": {path.name for path in folder.path.iterdir()} - {"curves.png"},  # not drawn within this process
    }


@pytest.fixture
def trained_through(
    configure: Callable[..., Config],
    train: Callable[[Config], float | None],
    cache: Path,
    capsys: pytest.CaptureFixture[str],
) -> Callable[[list[str], Path, random.Random], list[str]]:
    """Kills the run in given phases, one after the other, and lets it end; says in which it really was."""

    def through(kills: list[str], store: Path, dice: random.Random) -> list[str]:
        typed, found = [*TRIAL, f"cache={cache}", f"store={store}"], []
        for phase in kills:
            hit = Watch(store, start_process(*typed, script=SLOW_DISK)).kill_in(phase, dice)
            if hit is None:
                break
            found.append(hit)
        left = list(store.glob("*/checkpoint/*.pt"))
        capsys.readouterr()
        train(configure(*typed))
        out = capsys.readouterr().out
        assert ("resuming run" in out or "already" in out) == bool(left or found[-1] == "summary"), (found, out)
        return found

    return through


@pytest.fixture
def undisturbed(
    configure: Callable[..., Config], train: Callable[[Config], float | None], cache: Path, tmp_path: Path
) -> dict[str, Any]:
    config = configure(*TRIAL, f"cache={cache}", f"store={tmp_path / 'undisturbed'}")
    train(config)
    whole = result(list_runs(config.store)[0])
    assert whole["events"], "nothing to lose"
    return whole


def test_two_kills(undisturbed: dict[str, Any], trained_through: Callable[..., list[str]], tmp_path: Path) -> None:
    assert len(trained_through(["checkpoint", "summary"], tmp_path / "store", random.Random(0))) == 2
    assert result(list_runs(tmp_path / "store")[0]) == undisturbed


@pytest.mark.slow
def test_twenty_five_kills(
    undisturbed: dict[str, Any],
    trained_through: Callable[..., list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Five runs with a kill in each phase, in any order but the summary last; more where a process got away."""
    hits: list[str] = []
    for number in range(10):
        if len(hits) >= 25:
            break
        dice, store = random.Random(number), tmp_path / str(number)
        phases = [*dice.sample(PHASES[:-1], 4), "summary"]
        found = trained_through(phases, store, dice)
        with capsys.disabled():
            print(f"\nrun {number}: wanted {', '.join(phases)}; killed in {', '.join(found)}", flush=True)
        hits += found
        assert result(list_runs(store)[0]) == undisturbed, (number, phases, found)
    count = Counter(hits)
    assert len(hits) >= 25, count
    assert all(count[phase] >= 2 for phase in ("training", "evaluation", "checkpoint", "summary")), count
