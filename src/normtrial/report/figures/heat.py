"""Gradient norm by site and step, a heat map an arm, all on one logarithmic scale and with the same sites."""

import math
import re
import textwrap
from collections.abc import Iterable
from typing import Any

from normtrial.report.arms import Arm
from normtrial.report.figures.overlay import Read
from normtrial.report.figures.style import PAGE_WIDTH, new_figure

MOST_STEPS = 48  # columns of a map; more would be thinner than a reader can see
MOST_LABELS = 26
COLUMNS = 4
NOT_FINITE = (0.835, 0.369, 0.0, 1.0)  # vermilion, which cividis does not have
NOT_THERE = (0.0, 0.0, 0.0, 0.0)
SITE = re.compile(r"grad/(.+)/norm")
BLOCK = re.compile(r"block(\d+)\.")
LAST = ("final_norm", "head")

Map = dict[str, dict[int, float]]  # site -> step -> log10 of the norm, nan where it is not finite


def gradients(arms: list[Arm], read: Read) -> Any:
    """A figure with a map an arm; None where no gradient norm was recorded."""
    maps = [(arm, found) for arm in arms if (found := gradient_map(arm, read))]
    logs = [log for _, found in maps for line in found.values() for log in line.values() if log == log]
    if not logs:
        return None
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    # cividis: its lightness rises with the value, so grey prints keep the order.
    scale = ScalarMappable(Normalize(min(logs), max(logs)), colormaps["cividis"])
    sites = in_order(site for _, found in maps for site in found)
    columns = min(COLUMNS, len(maps))
    lines = -(-len(maps) // columns)
    figure = new_figure(PAGE_WIDTH, (0.7 + 0.13 * min(MOST_LABELS, len(sites))) * lines + 0.2)
    grid = figure.subplots(lines, columns, squeeze=False)
    for index, (axes, (arm, found)) in enumerate(zip(grid.flat, maps, strict=False)):
        draw_map(axes, found, sites, scale, labelled=index % columns == 0)
        axes.set_title(textwrap.fill(arm.name, 27), loc="left", fontsize=9, fontweight="bold")
        if index + columns >= len(maps):
            axes.set_xlabel("step", fontsize=8)
    for axes in grid.flat[len(maps) :]:
        axes.set_visible(False)
    bar = figure.colorbar(scale, ax=list(grid.flat), shrink=0.9 / lines, anchor=(0, 1), pad=0.01, aspect=22)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{10**value:.2g}")
    bar.set_label("gradient norm, before clipping", fontsize=8)
    return figure


def gradient_map(arm: Arm, read: Read) -> Map:
    """The mean of log10 over the arm's runs; nan where one of them is not finite, not positive or not there."""
    runs: list[Map] = []
    for run in arm.runs:
        table: Map = {}
        for row in read(run):
            for name, norm in row.items():
                if match := SITE.fullmatch(name):
                    table.setdefault(match[1], {})[row["step"]] = (
                        math.log10(norm) if norm and norm > 0 else math.nan
                    )
        runs.append(table)
    sites = dict.fromkeys(site for table in runs for site in table)
    steps = thinned(sorted({step for table in runs for line in table.values() for step in line}))
    return {
        site: {step: sum(table.get(site, {}).get(step, math.nan) for table in runs) / len(runs) for step in steps}
        for site in sites
    }


def thinned(steps: list[int]) -> list[int]:
    """At most `MOST_STEPS` of them, evenly chosen."""
    if len(steps) <= MOST_STEPS:
        return steps
    return [steps[index * (len(steps) - 1) // (MOST_STEPS - 1)] for index in range(MOST_STEPS)]


def in_order(sites: Iterable[str]) -> list[str]:
    """Sites as the forward pass meets them, those of a block as the first arm has them.

    >>> in_order(["embed", "block00.mlp", "head", "block01.mlp", "block00.norm1", "final_norm"])
    ['embed', 'block00.mlp', 'block00.norm1', 'block01.mlp', 'head', 'final_norm']
    """
    seen = list(dict.fromkeys(sites))

    def place(site: str) -> tuple[int, int, int]:
        block = BLOCK.match(site)
        return (1, int(block[1]), seen.index(site)) if block else (2 * (site in LAST), 0, seen.index(site))

    return sorted(seen, key=place)


def draw_map(axes: Any, found: Map, sites: list[str], scale: Any, labelled: bool) -> None:
    """One arm's map, with an empty line for a site that it lacks."""
    steps = list(next(iter(found.values())))
    logs = [[found[site][step] if site in found else None for step in steps] for site in sites]
    axes.imshow([[colour(log, scale) for log in line] for line in logs], aspect="auto", interpolation="none")
    places = range(0, len(sites), -(-len(sites) // MOST_LABELS))
    axes.set_yticks(places, [sites[place] for place in places] if labelled else [""] * len(places))
    ends = sorted({0, len(steps) // 2, len(steps) - 1})
    axes.set_xticks(ends, [str(steps[end]) for end in ends])
    axes.tick_params(labelsize=7, length=0)
    axes.spines[:].set_visible(False)


def colour(log: float | None, scale: Any) -> tuple[float, ...]:
    """Of a norm; not finite and not there have their own."""
    if log is None:
        return NOT_THERE
    return scale.to_rgba(log) if log == log else NOT_FINITE
