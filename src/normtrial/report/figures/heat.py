"""Gradient norm by site and step, a heat map an arm, all on one logarithmic scale."""

import math
import re
from typing import Any

from normtrial.report.arms import Arm
from normtrial.report.figures.overlay import Read
from normtrial.report.figures.style import new_figure

MOST_STEPS = 48  # columns of a map; more would be thinner than a reader can see
MOST_LABELS = 24
COLUMNS = 4
SITE = re.compile(r"grad/(.+)/norm")

Map = tuple[list[str], list[int], list[list[float]]]  # sites, steps, log10 of the norm by site and step


def gradient_map(arm: Arm, read: Read) -> Map:
    """The mean of log10 over the arm's runs; nan where one of them is not finite or not there."""
    tables: list[dict[int, dict[str, float]]] = []
    for run in arm.runs:
        table: dict[int, dict[str, float]] = {}
        for row in read(run):
            sites = {match[1]: value for name, value in row.items() if (match := SITE.fullmatch(name))}
            if sites:
                table[row["step"]] = sites
        tables.append(table)
    steps = sorted({step for table in tables for step in table})
    steps = (
        [steps[index * len(steps) // MOST_STEPS] for index in range(MOST_STEPS)]
        if len(steps) > MOST_STEPS
        else steps
    )
    sites = list(dict.fromkeys(site for table in tables for row in table.values() for site in row))
    return (
        sites,
        steps,
        [[_mean([table.get(step, {}).get(site) for table in tables]) for step in steps] for site in sites],
    )


def _mean(values: list[float | None]) -> float:
    if any(value is None or value <= 0 for value in values):
        return math.nan
    return sum(math.log10(value) for value in values if value) / len(values)


def gradients(arms: list[Arm], read: Read) -> Any:
    """A figure with a map an arm; None where no gradient norm was recorded."""
    maps = [(arm, found) for arm in arms if (found := gradient_map(arm, read))[0]]
    logs = [value for _, (_, _, table) in maps for line in table for value in line if value == value]
    if not logs:
        return None
    columns = min(COLUMNS, len(maps))
    num_rows = -(-len(maps) // columns)
    labelled = min(MOST_LABELS, max(len(sites) for _, (sites, _, _) in maps))
    figure = new_figure(9.5, (0.5 + 0.135 * labelled) * num_rows + 0.3)
    grid = figure.subplots(num_rows, columns, squeeze=False)
    image = None
    for index, (axes, (arm, found)) in enumerate(zip(grid.flat, maps, strict=False)):
        left = index % columns == 0 or found[0] != maps[index - 1][1][0]
        image = draw_map(axes, arm.name, found, (min(logs), max(logs)), left)
        if index + columns >= len(maps):
            axes.set_xlabel("step", fontsize=8)
    for axes in grid.flat[len(maps) :]:
        axes.set_visible(False)
    bar = figure.colorbar(image, ax=list(grid.flat), shrink=min(1.0, 2.5 / num_rows), pad=0.01, aspect=30)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{10**value:.2g}")
    bar.set_label("gradient norm, before clipping", fontsize=8)
    return figure


def draw_map(axes: Any, name: str, found: Map, limits: tuple[float, float], labelled: bool) -> Any:
    """One arm's map; cividis, whose lightness rises with the value, so grey prints keep the order."""
    sites, steps, table = found
    image = axes.imshow(table, aspect="auto", interpolation="none", cmap="cividis", vmin=limits[0], vmax=limits[1])
    axes.set_facecolor("#D55E00")  # what is not finite shows through
    axes.set_title(name, loc="left", fontsize=8.5, fontweight="bold")
    every = -(-len(sites) // MOST_LABELS)
    places = list(range(0, len(sites), every))
    axes.set_yticks(places, [sites[place] for place in places] if labelled else [""] * len(places))
    ends = sorted({0, len(steps) // 2, len(steps) - 1})
    axes.set_xticks(ends, [str(steps[end]) for end in ends])
    axes.tick_params(labelsize=6.5, length=0)
    axes.spines[:].set_visible(False)
    return image
