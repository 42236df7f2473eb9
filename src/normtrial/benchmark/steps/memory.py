"""Peak memory of a run of ours and of the bare loop, each in a fresh process: `peaks`.

The peak is that of the whole process (VmHWM): interpreter, libraries, model, optimizer, activations; ours with
everything that a run does, evaluation and curves included. `before` is what the process held in front of training,
with its libraries loaded and its text read.

    python -m normtrial.benchmark.steps.memory ours|bare case.pt     # what `peaks` starts
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from normtrial.training.process.memory import keep_freed_memory, peak_memory_mib

if TYPE_CHECKING:  # the bare side's process loads torch and what it trains, nothing else of ours
    from normtrial.config import Config

STEPS = 10


def peaks(config: "Config", overrides: list[str], num_threads: int) -> dict[str, dict[str, float]]:
    """By side: `peak` and `before` in MiB."""
    from normtrial.benchmark.steps import ours

    data = ours.data_of(config)
    with tempfile.TemporaryDirectory() as folder:
        case = {
            "shape": ours.shape_of(config, data),
            "batches": [data.train_batch(step, config.seed) for step in range(STEPS)],
            "overrides": [
                *overrides,
                f"store={folder}",
                f"train.steps={STEPS}",
                f"train.checkpoint_every={STEPS}",
            ],
            "threads": num_threads,
        }
        path = Path(folder) / "case.pt"
        torch.save(case, path)
        return {side: _in_a_process(side, path) for side in SIDES}


def _in_a_process(side: str, case: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "normtrial.benchmark.steps.memory", side, str(case)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def bare_run(case: dict[str, Any]) -> float:
    """The bare loop."""
    from normtrial.benchmark.steps import bare

    keep_freed_memory()
    torch.set_num_threads(case["threads"])
    before = resident_mib()
    bare.train(case["shape"], bare.build(case["shape"]), case["batches"], Path())
    return before


def our_run(case: dict[str, Any]) -> float:
    """A run as train.py does it, on as many threads as there are cores."""
    from normtrial import run
    from normtrial.config import Job, compose

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[: case["threads"]])
    config = compose(*case["overrides"])
    before = resident_mib()
    run.execute(config, Job())
    return before


SIDES: dict[str, Callable[[dict[str, Any]], float]] = {"bare": bare_run, "ours": our_run}


def resident_mib() -> float:
    """What this process holds now."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    before = SIDES[sys.argv[1]](torch.load(sys.argv[2], weights_only=False))
    print(json.dumps({"peak": peak_memory_mib("cpu"), "before": before}))
