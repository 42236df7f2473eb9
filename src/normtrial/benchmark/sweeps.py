"""Sixteen small runs as a sweep, as a shell loop and through Hydra's basic launcher; and sweeps that are finished.

Wall time of whole commands, each in fresh processes and with a store of its own, on text that is tokenized.
A finished sweep has all its runs in the store: timed is how long it takes to find that out, and to compare.
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

from normtrial.benchmark.command import add_overrides
from normtrial.benchmark.pairs import Comparison
from normtrial.benchmark.results import Results, table_of
from normtrial.config import as_yaml
from normtrial.config.multirun import sweeper_of
from normtrial.errors import require
from normtrial.help import CONF
from normtrial.records import list_runs, read_json, to_json, write_text
from normtrial.report.figures.style import COLOURS, tidy
from normtrial.run import main

TRAIN = CONF.with_name("train.py")
SMALL = ("log=file", "data.limit=64", "train.steps=20", "train.eval_every=10")
NORMS, SEEDS = ("ln", "rms", "bn", "ada"), range(4)
GRID = (f"norm={','.join(NORMS)}", "seed=0,1,2,3")
RATES, MANY_SEEDS = ("1e-4", "3e-4", "1e-3", "3e-3", "1e-2"), range(10)  # with the norms 200 runs
SHELL, BASIC, SWEEP = "shell loop", "basic launcher", "sweep"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    parser.add_argument("--rounds", type=int, default=3, help="of all ways, one after the other (default 3)")
    add_overrides(parser)


def seconds_of(rounds: int, overrides: list[str], folder: Path) -> dict[str, list[float]]:
    """Seconds of every way in every round, and of finished sweeps."""
    seconds: dict[str, list[float]] = {way: [] for way in (SHELL, BASIC, SWEEP, "finished", "200 finished")}
    _train(*SMALL, *overrides, "train.steps=1", "train.eval_every=1", f"store={folder}/warm")  # tokenizes
    for number in range(rounds):
        places = {way: [*SMALL, *overrides, f"store={folder}/{number}-{way.split()[0]}"] for way in seconds}
        began = time.perf_counter()
        for norm, seed in product(NORMS, SEEDS):
            _train(*places[SHELL], f"norm={norm}", f"seed={seed}")
        seconds[SHELL].append(time.perf_counter() - began)
        seconds[BASIC].append(_sweep(folder, *places[BASIC], *GRID, "hydra/launcher=basic"))
        seconds[SWEEP].append(_sweep(folder, *places[SWEEP], *GRID))
        seconds["finished"].append(_sweep(folder, *places[SWEEP], *GRID))
    many = [*SMALL, *overrides, f"store={folder}/many"]
    grid = [f"norm={','.join(NORMS)}", f"optim.lr={','.join(RATES)}", f"seed=range({len(MANY_SEEDS)})"]
    pretend(many, Path(f"{folder}/0-sweep"), Path(f"{folder}/many"))
    for _ in range(rounds):
        seconds["200 finished"].append(_sweep(folder, *many, *grid))
    return seconds


def pretend(overrides: list[str], trained: Path, store: Path) -> None:
    """Fill a store with the 200 runs: records of those that were trained, under the configurations of all."""
    records = {
        (read_json(one.path / "summary.json") or {})["name"].split("-")[0]: one for one in list_runs(trained)
    }
    jobs = [
        [f"norm={norm}", f"optim.lr={rate}", f"seed={seed}"]
        for norm, rate, seed in product(NORMS, RATES, MANY_SEEDS)
    ]
    with sweeper_of(main, overrides) as sweeper:
        entries = sweeper.plan([[*overrides, *job] for job in jobs])
    for entry in entries:
        shutil.copytree(records[entry.config.norm.name].path, entry.folder.path)
        write_text(entry.folder.path / "config.yaml", as_yaml(entry.config))
        for name in ("summary.json", "meta.json"):
            named = {"run_id": entry.folder.run_id, "name": entry.name}
            write_text(entry.folder.path / name, to_json((read_json(entry.folder.path / name) or {}) | named))
    assert len(list_runs(store)) == len(jobs)


def _sweep(folder: Path, *arguments: str) -> float:
    began = time.perf_counter()
    _train("-m", f"hydra.sweep.dir={folder}/sweep-{time.time_ns()}", *arguments)
    return time.perf_counter() - began


def _train(*arguments: str) -> None:
    done = subprocess.run([sys.executable, str(TRAIN), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def run(given: argparse.Namespace) -> Results:
    """All ways in turn, as many rounds as asked for."""
    require(given.rounds >= 2, f"--rounds={given.rounds} must be at least 2, for a spread.")
    with tempfile.TemporaryDirectory() as folder:
        seconds = seconds_of(given.rounds, given.overrides, Path(folder))
    title = f"Sweep of 16 runs {' '.join((*SMALL, *given.overrides))}"
    table = table_of(title, "", "s", "least", "most")
    for way, found in seconds.items():
        table.add_row(way, *(f"{of(found):.1f}" for of in (statistics.median, min, max)))
    ratios = [
        Comparison(f"{way} / sweep", [a / b for a, b in zip(seconds[way], seconds[SWEEP], strict=True)])
        for way in (SHELL, BASIC)
    ]
    unit = "times the sweep's time"
    return Results(title, unit, ratios, {"seconds": seconds}, [table], lambda figure: draw(figure, title, seconds))


def draw(figure: Any, title: str, seconds: dict[str, list[float]]) -> None:
    """A bar a way, and its rounds."""
    axes = figure.subplots()
    ways = list(seconds)[::-1]
    axes.barh(ways, [statistics.median(seconds[way]) for way in ways], color=COLOURS[0], alpha=0.6)
    for height, way in enumerate(ways):
        axes.plot(seconds[way], [height] * len(seconds[way]), "|", color="black", markersize=8)
    axes.set_xlabel("seconds", fontsize=9)
    tidy(axes, title, "")
