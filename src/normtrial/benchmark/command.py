"""The command line that all benchmarks share."""

import argparse
import time
from pathlib import Path

import torch

from normtrial.benchmark.pairs import Clock
from normtrial.errors import require

LEAST_PAIRS = 7  # fewer say little about a spread


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """What every benchmark can be told."""
    parser.add_argument("--pairs", type=int, default=9, help="timed pairs of a comparison, at least 7 (default 9)")
    parser.add_argument("--threads", type=int, default=1, help="of torch (default 1)")
    parser.add_argument("--cpu-time", action="store_true", help="of this process, for a machine that is busy")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"), help="folder of JSON and figure")


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """For benchmarks of configured runs."""
    parser.add_argument(
        "overrides", nargs="*", help="of the configuration, as for train.py; for both sides of a pair"
    )


def prepare(parser: argparse.ArgumentParser, given: argparse.Namespace, rest: list[str]) -> None:
    """Refuse what cannot be measured, take overrides that stand between options, pin the threads."""
    if rest and (not hasattr(given, "overrides") or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        given.overrides = [*given.overrides, *rest]
    require(given.pairs >= LEAST_PAIRS, f"--pairs={given.pairs} must be at least {LEAST_PAIRS}.")
    require(given.threads >= 1, f"--threads={given.threads} must be at least 1.")
    torch.set_num_threads(given.threads)


def clock_of(given: argparse.Namespace) -> tuple[Clock, str]:
    """What is read before and after a turn, and its name."""
    return (time.process_time, "CPU time") if given.cpu_time else (time.perf_counter, "wall time")
