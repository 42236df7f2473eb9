"""What can grow, and what is timed while it does."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from normtrial.benchmark.scale.steps import HEAD_WIDTH, step
from normtrial.benchmark.scale.store import fill
from normtrial.records import list_runs
from normtrial.report.comparison import print_comparison

Work = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Axis:
    """One size.

    Attributes:
        of: what is timed.
        unit: of the size.
        smallest: the first; each following is twice as large.
        work: what is timed at a size, given an empty folder and the cache of tokenized text.
    """

    of: str
    unit: str
    smallest: int
    work: Callable[[int, Path, Path], Work]


def stepping(overrides: Callable[[int], tuple[str, ...]]) -> Callable[[int, Path, Path], Work]:
    """Steps of a model or on data of that size."""
    return lambda size, folder, cache: step(folder / str(size), *overrides(size))


def wide(size: int) -> tuple[str, ...]:
    """Heads of one width, and four times the width inside the MLP."""
    return (f"model.d_model={size}", f"model.num_heads={size // HEAD_WIDTH}", f"model.d_ff={4 * size}")


def comparing(size: int, folder: Path, cache: Path) -> Work:
    """The table of a store of so many runs."""
    fill(folder / str(size), size, cache)

    def compare() -> None:
        print_comparison(list_runs(folder / str(size)), console=Console(file=io.StringIO(), width=120))

    return compare


AXES = {
    "depth": Axis("step", "blocks", 4, stepping(lambda size: (f"model.num_layers={size}",))),
    "width": Axis("step", "features", 64, stepping(wide)),
    "length": Axis("step", "tokens a window", 128, stepping(lambda size: (f"data.max_len={size}",))),
    "batch": Axis("step", "windows", 4, stepping(lambda size: (f"data.batch_size={size}",))),
    "vocabulary": Axis("step", "tokens", 2048, stepping(lambda size: (f"data.vocab_size={size}",))),
    "runs": Axis("comparison", "runs", 125, comparing),
}
