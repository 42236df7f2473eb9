"""The norms' figures as a table a way of calling, and as a drawing."""

from typing import Any

from rich.table import Table

from normtrial.benchmark.norms.rows import PASSES, Row
from normtrial.benchmark.pairs import Comparison
from normtrial.benchmark.results import table_of
from normtrial.report.figures.style import COLOURS, GREY, tidy

NAMES = {"forward": "forward", "both": "forward and backward"}


def tables(title: str, rows: list[Row]) -> list[Table]:
    """A line for each thing that a norm is compared with; a ~ where torch has only something like it."""
    found = []
    for passes in PASSES:
        table = table_of(f"{title}, {NAMES[passes]}", "norm", "ms", "x floor", "x torch", "quartiles", "torch")
        for row in (row for row in rows if row.passes == passes):
            floor = "" if row.floor is None else f"{row.floor.median:.2f}"
            for number, peer in enumerate(row.peers):
                own = ("", "", "") if number else (row.norm, f"{row.seconds * 1e3:.3f}", floor)
                table.add_row(*own, f"{peer.median:.2f}", _quartiles(peer), peer.name)
        found.append(table)
    return found


def draw(figure: Any, title: str, rows: list[Row]) -> None:
    """Left over the floor, right over what torch has first, both passes; logarithmic, and 1 is a line."""
    both = [row for row in rows if row.passes == "both"][::-1]
    figure.set_size_inches(8.5, 1.4 + 0.24 * len(both))
    for number, axes in enumerate(figure.subplots(1, 2, sharey=True)):
        for height, row in enumerate(both):
            one = row.peers[0] if number else row.floor
            if one is not None:
                axes.plot(one.quartiles, (height, height), color=COLOURS[2], linewidth=3)
                axes.plot(one.median, height, "o", color=COLOURS[0], markersize=4)
        axes.axvline(1, color=GREY, linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel("time over " + ("torch's" if number else "the floor"), fontsize=9)
        tidy(axes, "" if number else f"{title}, {NAMES['both']}", "")
    labels = [row.norm if not row.peers else f"{row.norm}: {row.peers[0].name}" for row in both]
    figure.axes[0].set_yticks(range(len(both)), labels)


def _quartiles(one: Comparison) -> str:
    low, high = one.quartiles
    return f"{low:.2f}–{high:.2f}"
