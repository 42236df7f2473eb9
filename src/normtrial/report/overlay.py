"""The overlay figure of a sweep: each arm's mean learning curve with the range of its seeds."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from normtrial.records import RunFolder
from normtrial.report.arms import Arm, Run, group
from normtrial.report.style import DIVERGED, TRIVIAL, Series, line_style, new_figure, save, series, tidy, zoom

PANELS = {"train/loss_nats": "Training loss", "val/loss_nats": "Validation loss"}


def draw_overlay(folders: Iterable[RunFolder | Run], path: Path) -> Path:
    """Draw training and validation loss of all arms into `path`.

    The mean stands only where every run of the arm has a finite value: averaging the survivors would make an
    arm look better for having lost a run. A diverged run is drawn by itself, up to a cross.
    """
    arms = group(folders)
    columns = 1 + (len(arms) - 1) // 24
    figure = new_figure(9.5 + 1.5 * (columns - 1), max(6.0, 0.24 * len(arms) / columns + 2))
    panels = figure.subplots(len(PANELS), 1, sharex=True)
    handles: dict[str, Any] = {}
    for axes, (metric, title) in zip(panels, PANELS.items(), strict=True):
        tidy(axes, title, "nats")
        shown: list[float] = []
        for index, arm in enumerate(arms):
            line, values = draw_arm(axes, arm, metric, line_style(index))
            handles.setdefault(legend_label(arm), line)
            shown += values
        trivial = {value for arm in arms if (value := arm.average("trivial:loss_nats")) is not None}
        if len(trivial) == 1:
            handles["trivial predictor"] = axes.axhline(*trivial, **TRIVIAL)
        zoom(axes, shown, max(trivial, default=None))
    panels[-1].set_xlabel("step", fontsize=9)
    if any(arm.count("diverged") for arm in arms):
        handles["diverged"] = mark = panels[0].plot([], [], linestyle="", **DIVERGED)[0]
        mark.set_label("diverged")
    if handles:
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside right upper",
            fontsize=8,
            frameon=False,
            ncols=columns,
        )
    return save(figure, path)


def draw_arm(axes: Any, arm: Arm, metric: str, style: dict[str, Any]) -> tuple[Any, list[float]]:
    """Draw an arm's mean and range, and its diverged runs; the line for the legend, and every value shown."""
    curves = [curve_of(run, metric) for run in arm.runs]
    steps, low, mean, high = mean_and_range(curves)
    marker = "o" if len(steps) < 3 else None
    (line,) = axes.plot(steps, mean, marker=marker, markersize=4, **style)
    axes.fill_between(steps, low, high, color=style["color"], alpha=0.13, linewidth=0)
    shown = [*low, *high]
    for run, (run_steps, values) in zip(arm.runs, curves, strict=True):
        if run.status == "diverged":
            finite = [(step, value) for step, value in zip(run_steps, values, strict=True) if value == value]
            if not finite:
                continue
            axes.plot(*zip(*finite, strict=True), **style | {"linewidth": 0.8})
            axes.plot(*finite[-1], **DIVERGED, zorder=5)
            shown += [value for _, value in finite]
    return line, shown


def curve_of(run: Run, metric: str) -> Series:
    """Steps and values of one metric of one run."""
    return series(run.folder.read_metrics(), metric)


def mean_and_range(curves: list[Series]) -> tuple[list[int], list[float], list[float], list[float]]:
    """Steps where all curves are finite, with the lowest, the mean and the highest value there.

    >>> mean_and_range([([1, 2], [1.0, 4.0]), ([1, 2, 3], [3.0, float("nan"), 5.0])])
    ([1], [1.0], [2.0], [3.0])
    """
    tables = [{s: v for s, v in zip(*curve, strict=True) if v == v} for curve in curves]
    steps = sorted(set.intersection(*map(set, tables))) if tables else []
    columns = [[table[step] for table in tables] for step in steps]
    return (
        steps,
        [min(values) for values in columns],
        [sum(values) / len(values) for values in columns],
        [max(values) for values in columns],
    )


def legend_label(arm: Arm) -> str:
    """The arm's name with its runs: how many, and how many of them diverged or have no result."""
    parts = [f"n={len(arm.runs)}"]
    parts += [f"{num} {status}" for status in ("diverged", "crashed", "interrupted") if (num := arm.count(status))]
    return f"{arm.name} ({', '.join(parts)})"
