"""What can grow, and what is timed while it does."""

import io
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from normtrial.benchmark.overhead import Turn
from normtrial.benchmark.scale.steps import HEAD_WIDTH, step
from normtrial.benchmark.scale.store import fill
from normtrial.records import list_runs
from normtrial.report.comparison import print_comparison


@dataclass(frozen=True, slots=True)
class Place:
    """Where an axis is measured: an empty folder, tokenized text, and what is closed at the end."""

    folder: Path
    cache: Path
    stack: ExitStack


@dataclass(frozen=True, slots=True)
class Axis:
    """One size.

    Attributes:
        of: what is timed.
        unit: of the size.
        smallest: the first; each following is twice as large.
        turn: gives what is timed at a size.
    """

    of: str
    unit: str
    smallest: int
    turn: Callable[[int, Place], Turn]


def stepping(overrides: Callable[[int], tuple[str, ...]]) -> Callable[[int, Place], Turn]:
    """A step of a model or on data of that size."""
    return lambda size, place: step(place.folder / str(size), place.stack, *overrides(size))


def wide(size: int) -> tuple[str, ...]:
    """Heads of one width, and four times the width inside the MLP."""
    return (f"model.d_model={size}", f"model.num_heads={size // HEAD_WIDTH}", f"model.d_ff={4 * size}")


def comparing(size: int, place: Place) -> Turn:
    """The table of a store of so many runs."""
    store = place.folder / str(size)
    fill(store, size, place.cache)

    def compare() -> None:
        print_comparison(list_runs(store), console=Console(file=io.StringIO(), width=120))

    return compare


AXES = {
    "depth": Axis("step", "blocks", 4, stepping(lambda size: (f"model.num_layers={size}",))),
    "width": Axis("step", "features", 64, stepping(wide)),
    "length": Axis("step", "tokens a window", 128, stepping(lambda size: (f"data.max_len={size}",))),
    "batch": Axis("step", "windows", 4, stepping(lambda size: (f"data.batch_size={size}",))),
    "vocabulary": Axis("step", "tokens", 2048, stepping(lambda size: (f"data.vocab_size={size}",))),
    "runs": Axis("comparison", "runs", 125, comparing),
}
