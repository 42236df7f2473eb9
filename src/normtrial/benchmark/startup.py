"""How long one run takes to its first step, by phases, and `--help`: each time in a fresh process.

Phases: interpreter, import (torch, Hydra and ours), compose (configuration), data (tokenized already), model (with
identity, record and sinks), first step, and the rest of the smallest run: evaluation, figure, end of the process.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from normtrial.benchmark.command import add_overrides
from normtrial.benchmark.phases import PHASES
from normtrial.benchmark.results import Results, table_of
from normtrial.help import CONF
from normtrial.report.figures.style import COLOURS, tidy

TRAIN = CONF.with_name("train.py")
SHORTEST = ("data.limit=64", "train.steps=1", "train.eval_every=1")
HELP = "--help"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    add_overrides(parser)


def run(given: argparse.Namespace) -> Results:
    """As many starts as pairs are asked for; the first one, which finds cold files, does not count."""
    found = startup_times(given.pairs, *given.overrides)
    title = f"Start-up {' '.join(given.overrides)}".rstrip()
    table = table_of(title, "", "s", "least", "most")
    for phase, seconds in found.items():
        table.add_row(phase, *(f"{of(seconds):.2f}" for of in (statistics.median, min, max)))
    return Results(title, "seconds", [], {"seconds": found}, [table], lambda figure: draw(figure, title, found))


def startup_times(num: int, *overrides: str) -> dict[str, list[float]]:
    """Seconds of every phase, of all until the first step, and of `--help`, a number a start."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(num + 1):
            rows.append(once(*SHORTEST, *overrides, f"store={folder}/{number}"))
    return {phase: [row[phase] for row in rows[1:]] for phase in rows[0]}


def once(*overrides: str) -> dict[str, float]:
    """One start of each."""
    began = time.monotonic()
    done = _python("-m", "normtrial.benchmark.phases", *overrides)
    whole = time.monotonic() - began
    ended = json.loads(done.splitlines()[-1])
    row: dict[str, float] = {}
    for phase in PHASES:
        row[phase] = ended[phase] - began - sum(row.values())
    row["the rest"] = whole - sum(seconds for phase, seconds in row.items() if phase != "the rest")
    row["until the first step"] = ended["first step"] - began
    began = time.monotonic()
    _python(str(TRAIN), HELP)
    return row | {HELP: time.monotonic() - began}


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def draw(figure: Any, title: str, found: dict[str, list[float]]) -> None:
    """Phases one after the other, by their medians."""
    figure.set_size_inches(7.5, 1.8)
    axes, left = figure.subplots(), 0.0
    for number, phase in enumerate(PHASES):
        seconds = statistics.median(found[phase])
        axes.barh(0, seconds, left=left, color=COLOURS[number % len(COLOURS)], label=phase)
        left += seconds
    axes.set_yticks([])
    axes.set_xlabel("seconds", fontsize=9)
    axes.legend(ncols=4, fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.35))
    tidy(axes, title, "")
