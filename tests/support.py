"""The command line as tests use it, within this process or as a real one; how runs are compared; W&B's reader."""

import json
import os
import runpy
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from normtrial.records import RunFolder

ROOT = Path(__file__).parents[1]
# The smallest trial that does everything a real one does.
TINY = [
    *("log=file", "model.num_layers=1", "model.d_model=16", "model.num_heads=2", "model.d_ff=32"),
    *("data.limit=16", "data.batch_size=4", "data.max_len=16", "data.vocab_size=1024"),
    *("train.steps=6", "train.eval_every=3", "train.log_every=1", "optim.warmup_steps=2"),
]
SOTU = ["data=sotu", "data.vocab_size=512"]  # a text prepared for other tests too
MEASURED = ("time/", "throughput/", "memory/")  # differ from run to run


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command ended with."""

    code: int
    message: str  # after success empty
    out: str = ""
    err: str = ""


def command(*arguments: str) -> Answer:
    """Run train.py as `__main__` in this process."""
    script = str(ROOT / "train.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYDRA_FULL_ERROR", "1")
        patch.setattr(sys, "argv", [script, *arguments])
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as ending:
            return Answer(1, ending.code) if isinstance(ending.code, str) else Answer(ending.code or 0, "")
    return Answer(0, "")


def assert_answered(typed: str, message: str) -> None:
    """Whoever types this reads just that, and the exit code is 1."""
    given = command(*typed.split(" "))
    assert (given.code, given.message) == (1, f"normtrial: {message}")


def start_process(*arguments: str, script: Path = ROOT / "train.py", **environment: str) -> subprocess.Popen[str]:
    """A real `python train.py …` on one thread."""
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "200", **environment},
        preexec_fn=stay_on_one_core,  # a run takes as many threads as it has cores, and sums depend on that
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stay_on_one_core() -> None:
    """Leave this process one of its cores, by turns."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def answer(process: subprocess.Popen[str], timeout: float = 120) -> Answer:
    """Wait for a process and take what it said."""
    out, err = process.communicate(timeout=timeout)
    lines = err.strip().splitlines()
    return Answer(process.returncode, lines[-1] if lines else "", out, err)


def comparable(folder: RunFolder) -> list[dict[str, Any]]:
    """All rows of a run without what is measured by the clock."""
    return [
        {name: value for name, value in row.items() if not name.startswith(MEASURED)}
        for row in folder.read_metrics()
    ]


def wandb(*arguments: str) -> str:
    """What W&B's own command line says."""
    command = [sys.executable, "-m", "wandb", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def wandb_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What W&B's own reader finds in a session's folder, or in the latest one of a run folder, by kind."""
    found: dict[str, list[dict[str, Any]]] = {}
    for line in wandb("leet", "inspect", "--json", str(folder)).splitlines():
        record = json.loads(line)
        found.setdefault(record["type"], []).append(record.get(record["type"], {}))
    return found


def wandb_summary(folder: Path) -> dict[str, Any]:
    """Name, state, configuration and summary of the latest session in a run folder, by W&B's own reader."""
    return json.loads(wandb("leet", "inspect", "--summary", "--json", str(folder)))
