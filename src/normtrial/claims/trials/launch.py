"""From trials to finished runs, through the project's own sweeper and its launchers; finished ones are skipped."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from normtrial.claims.trials.needs import Trial

TRAIN = Path(__file__).parents[4] / "train.py"


def launch(trials: Iterable[Trial], extra: Iterable[str] = ()) -> None:
    """Train them all: a sweep over seeds an arm. A crash is told by the sweep and leaves its trial open."""
    by_arm: dict[str, list[int]] = {}
    for trial in trials:
        by_arm.setdefault(trial.arm, []).append(trial.seed)
    for number, (arm, seeds) in enumerate(by_arm.items(), 1):
        print(f"[{number} of {len(by_arm)} arms] {arm} seeds {seeds}", flush=True)
        swept = f"seed={','.join(map(str, sorted(set(seeds))))}"
        command = [sys.executable, str(TRAIN), "-m", *arm.split(" "), swept, "log=file", *extra]
        subprocess.run(command, check=False)
