"""Cost against size: depth, width, length, batch, vocabulary and number of stored runs, each a fitted power.

The first five are a training step of a small language model in which one size is doubled again and again, `runs`
is the comparison of that many runs: reading, naming, writing the table. Sizes take turns, so that a busy machine
slows all of them, and every turn is a point of the fit, over the upper half of the sizes.
"""

import argparse
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.table import Table

from normtrial.benchmark.command import clock_of
from normtrial.benchmark.pairs import Clock, Repeated
from normtrial.benchmark.results import Results, table_of
from normtrial.benchmark.scale.axes import AXES, Axis, Place
from normtrial.benchmark.scale.fit import Power, fit
from normtrial.errors import not_one_of, require
from normtrial.report.figures.style import COLOURS, GREY, tidy
from normtrial.training.process.memory import keep_freed_memory

LEAST_SIZES = 4  # two of them in the upper half


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    parser.add_argument("--only", nargs="+", metavar="AXIS", help=f"of {', '.join(AXES)}")
    parser.add_argument("--sizes", type=int, default=5, help="of an axis, each twice the one before (default 5)")
    parser.add_argument("--cache", type=Path, default=Path("results/cache"), help="of tokenized text, for `runs`")


def run(given: argparse.Namespace) -> Results:
    """All axes, or those that were named."""
    names = given.only or list(AXES)
    for name in names:
        if name not in AXES:
            raise not_one_of("--only", name, AXES)
    require(given.sizes >= LEAST_SIZES, f"--sizes={given.sizes} must be at least {LEAST_SIZES}.")
    clock, kind = clock_of(given)
    keep_freed_memory()
    more: dict[str, Any] = {}
    powers: dict[str, Power] = {}
    for name in names:
        axis = AXES[name]
        sizes = [axis.smallest * 2**doubled for doubled in range(given.sizes)]
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            seconds = timed(axis, sizes, Place(Path(folder), given.cache, stack), given.pairs, clock)
        powers[name] = fit(sizes, seconds)
        more[name] = about(axis, sizes, seconds, powers[name])
        print(f"{name}: {powers[name].exponent:.2f}", file=sys.stderr, flush=True)
    title = "Cost against size"
    return Results(
        title,
        kind,
        [],
        {"axes": more},
        [table(title, more)],
        lambda figure: draw(figure, more, powers),
    )


def timed(axis: Axis, sizes: list[int], place: Place, num_rounds: int, clock: Clock) -> list[list[float]]:
    """Of every size the seconds of one time, a number a round; the first round, which warms up, does not count."""
    turns = [Repeated(axis.turn(size, place), clock) for size in sizes]
    for _ in range(num_rounds + 1):
        for turn in turns:
            turn()
    return [turn.seconds[1:] for turn in turns]


def about(axis: Axis, sizes: list[int], seconds: list[list[float]], power: Power) -> dict[str, Any]:
    """Plain values with every time."""
    return {
        "of": axis.of,
        "unit": axis.unit,
        "sizes": sizes,
        "medians": [statistics.median(times) for times in seconds],
        "exponent": power.exponent,
        "standard_error": power.error,
        "fitted_from": power.smallest,
        "seconds": seconds,
    }


def table(title: str, axes: dict[str, dict[str, Any]]) -> Table:
    """A line an axis."""
    found = table_of(
        f"{title}; powers fitted over the upper half of the sizes", "", "of", "from", "to", "ms", "power"
    )
    for name, axis in axes.items():
        first, last = (f"{1e3 * axis['medians'][end]:.3g}" for end in (0, -1))
        found.add_row(
            name,
            axis["of"],
            f"{axis['sizes'][0]:,}",
            f"{axis['sizes'][-1]:,} {axis['unit']}",
            f"{first} to {last}",
            f"{axis['exponent']:.2f} ± {axis['standard_error']:.2f}",
        )
    return found


def draw(figure: Any, axes: dict[str, dict[str, Any]], powers: dict[str, Power]) -> None:
    """A panel an axis, both scales logarithmic: every time, the medians, the power where it was fitted."""
    from matplotlib.ticker import LogLocator

    columns = min(3, len(axes))
    rows = -(-len(axes) // columns)
    figure.set_size_inches(3.2 * columns, 2.7 * rows)
    for number, (name, axis) in enumerate(axes.items()):
        panel = figure.add_subplot(rows, columns, number + 1)
        for size, seconds in zip(axis["sizes"], axis["seconds"], strict=True):
            panel.plot([size] * len(seconds), [1e3 * one for one in seconds], "_", color=GREY, markersize=6)
        panel.plot(axis["sizes"], [1e3 * one for one in axis["medians"]], "o", color=COLOURS[0], markersize=4)
        power, fitted = powers[name], [size for size in axis["sizes"] if size >= axis["fitted_from"]]
        panel.plot(fitted, [1e3 * power.at(size) for size in fitted], color=COLOURS[2], linewidth=1.5)
        panel.set_xscale("log", base=2)
        panel.set_xticks(axis["sizes"], [f"{size:,}" for size in axis["sizes"]])
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:g}")
        panel.tick_params(which="minor", labelleft=False)
        panel.set_xlabel(axis["unit"], fontsize=8)
        tidy(panel, f"{name}: power {power.exponent:.2f} ± {power.error:.2f}", "" if number % columns else "ms")
