"""What an option costs: time of training steps with it over that without it, by pairs in one process.

    python scripts/overhead.py probe=none probe=default norm=bn data=bbc

The first two arguments are the sides, the others hold for both. Each side takes its turn of real steps, writing
its rows into a temporary folder. Prints the median of the ratios, their range, and how many numbers a row holds.
"""

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from normtrial.assemble import build_model, build_setup, pick_device
from normtrial.config import compose
from normtrial.data import catalogue
from normtrial.records import RunFolder
from normtrial.training.checkpoint import Checkpoints
from normtrial.training.loop import Loop
from normtrial.training.ranks import Ranks
from normtrial.training.sinks import RecordSink, Sinks
from normtrial.training.stopwatch import paired_ratios


def turn_of(folder: Path, num_steps: int, *overrides: str) -> Callable[[], None]:
    """A function that takes the next steps of a configuration."""
    config = compose("train.steps=1000000", *overrides)
    device = pick_device(config.device)
    data = catalogue.load(config.data, Path(config.cache))
    model = build_model(config, data).to(device).train()
    record = RecordSink(RunFolder(folder))
    checkpoints = Checkpoints(folder / "checkpoint", 1)
    setup = build_setup(config, model, data, device, record, Sinks([record]), checkpoints, Ranks(), lambda: False)
    loop, steps = Loop(setup), itertools.count(1)

    def turn() -> None:
        for step in itertools.islice(steps, num_steps):
            loop._step(step)
        if device != "cpu":
            torch.cuda.synchronize()

    return turn


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one", help="the side without, e.g. probe=none")
    parser.add_argument("other", help="the side with, e.g. probe=default")
    parser.add_argument("overrides", nargs="*", help="of both sides")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=10, help="of a turn; a multiple of train.log_every")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="this process's CPU time instead of wall time")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as folder:
        sides = [Path(folder) / name for name in ("one", "other")]
        one, other = (
            turn_of(path, given.steps, "log=file", *given.overrides, side)
            for path, side in zip(sides, (given.one, given.other), strict=True)
        )
        clock = time.process_time if given.cpu_time else time.perf_counter
        ratios = sorted(paired_ratios(one, other, given.pairs, clock))
        rows = [RunFolder(path).read_metrics() for path in sides]
    columns = [max(map(len, side)) for side in rows]
    print(
        f"{given.other} over {given.one} ({' '.join(given.overrides)}), "
        f"{'CPU' if given.cpu_time else 'wall'} time: median {statistics.median(ratios):.3f} of "
        f"{len(ratios)} pairs, from {ratios[0]:.3f} to {ratios[-1]:.3f}; numbers a row: {columns[0]}, {columns[1]}"
    )


if __name__ == "__main__":
    main()
