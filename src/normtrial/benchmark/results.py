"""Figures of a benchmark: printed, and kept as JSON and as a drawing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from normtrial.benchmark.machine import machine
from normtrial.benchmark.pairs import Comparison
from normtrial.report.figures.style import COLOURS, GREY, new_figure, save, tidy

LEAST_WIDTH = 110  # columns of a table in a log file, which says nothing of its width
Draw = Callable[[Any], None]


@dataclass(slots=True)
class Results:
    """What a benchmark found.

    Attributes:
        title: of table and figure: on what.
        unit: of the ratios: of what over what.
        comparisons: by pairs.
        more: plain values that the JSON keeps beside them.
        tables: printed below the ratios.
        draw: puts something else than the ratios into the figure that it is given.
    """

    title: str
    unit: str
    comparisons: list[Comparison]
    more: dict[str, Any] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    draw: Draw | None = None


def table_of(title: str, *headers: str) -> Table:
    """An empty table in the look of all; the first column holds names."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, header in enumerate(headers):
        table.add_column(header, justify="right" if number else "left")
    return table


def show(results: Results) -> None:
    """As tables: median, quartiles and number of the ratios, what else there is, and how fast the machine is."""
    console = Console()
    console.width = max(console.width, LEAST_WIDTH)
    if results.comparisons:
        table = table_of(results.title, "", results.unit, "quartiles", "pairs")
        for one in results.comparisons:
            low, high = one.quartiles
            table.add_row(one.name, f"{one.median:.3f}", f"{low:.3f} to {high:.3f}", str(len(one.ratios)))
        console.print(table)
    for table in results.tables:
        console.print(table)
    measured = machine()
    console.print(
        f"{measured['threads']} thread(s) of {measured['cores']} cores, load {measured['load']:.1f}; products "
        f"{measured['gemm_gflops']:.1f} GFLOP/s, copies {measured['copy_gb_per_s']:.1f} GB/s",
        highlight=False,
    )


def keep(results: Results, folder: Path, name: str, command: str) -> None:
    """`name.json` with every ratio, and `name.png`."""
    content = {
        "about": {"unit": results.unit, "title": results.title, "command": command},
        "machine": machine(),
        "comparisons": {
            one.name: {"median": one.median, "quartiles": one.quartiles, "ratios": one.ratios}
            for one in results.comparisons
        },
        **results.more,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    figure = new_figure(7.5, 1.6 + 0.32 * len(results.comparisons)) if results.draw is None else new_figure(7.5, 4)
    (results.draw or partial(draw_ratios, results))(figure)
    save(figure, folder / f"{name}.png")


def draw_ratios(results: Results, figure: Any) -> None:
    """A line a comparison: every ratio, the quartiles, the median."""
    found = results.comparisons[::-1]
    axes = figure.subplots()
    for height, one in enumerate(found):
        axes.plot(one.quartiles, (height, height), color=COLOURS[2], linewidth=3)
        axes.plot(one.ratios, [height] * len(one.ratios), "|", color=GREY, markersize=7)
        axes.plot(one.median, height, "o", color=COLOURS[0], markersize=5)
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(found)), [one.name for one in found])
    axes.set_xlabel(results.unit, fontsize=9)
    tidy(axes, results.title, "")
