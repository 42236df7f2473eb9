"""One look for every figure: colours and line styles that survive grey printing and colour blindness."""

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# Okabe & Ito (2008), "Color Universal Design", without yellow (invisible on white); black first.
COLOURS = ("#000000", "#E69F00", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = "osD^vP*"  # one more than the dashes, so that marker and dashes rarely agree between two lines
GREY = "#777777"
PAGE_WIDTH = 12.0  # inches of a figure as wide as the page
TRIVIAL: dict[str, Any] = {"color": GREY, "linestyle": (0, (2, 2)), "linewidth": 1.2}
DIVERGED: dict[str, Any] = {"color": "#D55E00", "marker": "X", "markersize": 9, "markeredgecolor": "black"}


def line_style(index: int) -> dict[str, Any]:
    """The look of the index-th of several curves: colour and dashes change together, so either one tells.

    >>> line_style(0)["color"], line_style(7)["color"], line_style(0) == line_style(7)
    ('#000000', '#000000', False)
    """
    dashes = DASHES[index % len(DASHES)] if index else "-"
    return {"color": COLOURS[index % len(COLOURS)], "linestyle": dashes, "linewidth": 1.5}


def marked_style(index: int, num_points: int) -> dict[str, Any]:
    """The same with a marker now and then: what tells lines apart in grey."""
    every = max(1, num_points // 6)
    return line_style(index) | {
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 4.5,
        "markevery": (index * every // 3 % every, every),
    }


def new_figure(width: float, height: float) -> Any:
    """An empty figure on the Agg canvas; no pyplot, so nothing global and no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def legend(figure: Any, handles: dict[str, Any], place: str = "outside right upper", columns: int = 1) -> None:
    """A legend beside or below everything, its lines long enough to show their dashes."""
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc=place,
            fontsize=8,
            frameon=False,
            ncols=columns,
            handlelength=3.4,
            labelspacing=0.6,
        )


def tidy(axes: Any, title: str, y_label: str) -> None:
    """Title on the left, a light grid, no frame above and right."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    axes.set_ylabel(y_label, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Any, path: Path) -> Path:
    """Write the figure so that a reader sees the old one or the new one, never a half."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    figure.savefig(temporary, dpi=120)
    temporary.replace(path)
    return path


Series = tuple[list[int], list[float]]


def series(rows: Iterable[dict[str, Any]], name: str) -> Series:
    """Steps and values of one metric; NaN, which matplotlib leaves open, where a value was not finite."""
    points = {row["step"]: row[name] for row in rows if name in row}
    steps = sorted(points)
    return steps, [float("nan") if points[step] is None else float(points[step]) for step in steps]


def visible_range(estimates: Sequence[float], half_widths: Sequence[float]) -> tuple[float, float]:
    """Limits that show every estimate and the whole of most intervals; a few long ones are cut.

    An interval of two seeds, or of an arm with a diverged run, would flatten all others.

    >>> visible_range([0.0, 1.0], [0.1, 0.1, 40.0])
    (-0.2, 1.2)
    """
    usual = statistics.median(half_widths) if half_widths else 0.0
    room = 0.1 * (max(estimates) - min(estimates)) + usual or 0.1 * abs(estimates[0]) or 1.0
    return min(estimates) - room, max(estimates) + room


def zoom(axes: Any, values: Sequence[float], reference: float | None) -> None:
    """Keep an explosion from flattening all else: show up to three times the reference or median."""
    finite = sorted(value for value in values if value == value)
    if not finite:
        return
    ceiling = 3 * max(reference or 0.0, finite[len(finite) // 2])
    if finite[-1] > ceiling > 0:
        axes.set_ylim(top=ceiling, bottom=min(finite[0], 0.0))
