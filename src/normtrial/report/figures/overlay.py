"""The overlay figure of a sweep: each arm's mean learning curve with the range of its seeds."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from normtrial.records import RunFolder
from normtrial.report.arms import Arm, Run, group
from normtrial.report.figures.style import (
    DIVERGED,
    TRIVIAL,
    Series,
    legend,
    line_style,
    marked_style,
    new_figure,
    save,
    series,
    tidy,
    zoom,
)
from normtrial.training.metrics import find

SMOOTHED = 5  # logged rows of training in a mean; single batches would hide one arm behind the other
PANELS = {"train/loss_nats": f"Training loss, mean of {SMOOTHED} rows", "val/loss_nats": "Validation loss"}
WIDTH = 150  # letters beside each other in a legend as wide as the figure
Read = Callable[[Run], list[dict[str, Any]]]  # the rows that a run has logged


def read_metrics(run: Run) -> list[dict[str, Any]]:
    """From the run's folder."""
    return run.folder.read_metrics()


def draw_overlay(folders: Iterable[RunFolder | Run], path: Path) -> Path:
    """Draw training and validation loss of all arms into `path`."""
    return save(learning_curves(group(folders), PANELS), path)


def learning_curves(arms: list[Arm], panels: Mapping[str, str], read: Read = read_metrics) -> Any:
    """A figure with a panel a metric (name and title), each arm's mean with the range of its seeds.

    The mean stands only where every run of the arm has a finite value: averaging the survivors would make an
    arm look better for having lost a run. A diverged run is drawn by itself, up to a cross.
    """
    columns = max(1, min(4, WIDTH // max(len(legend_label(arm)) for arm in arms)))
    figure = new_figure(4.0 * len(panels), 3.6 + 0.2 * (len(arms) + 2) / columns)
    panel_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    handles: dict[str, Any] = {}
    for axes, (metric, title) in zip(panel_axes, panels.items(), strict=True):
        found = find(metric)
        tidy(axes, title, found.unit if found and found.unit != "1" else "")
        shown: list[float] = []
        for index, arm in enumerate(arms):
            line, values = draw_arm(axes, arm, [curve_of(read(run), metric) for run in arm.runs], index)
            handles.setdefault(legend_label(arm), line)
            shown += values
        name = metric.rsplit("/", 1)[1]
        trivial = {value for arm in arms if (value := arm.average(f"trivial:{name}")) is not None}
        if len(trivial) == 1:
            handles["trivial predictor"] = axes.axhline(*trivial, **TRIVIAL)
        zoom(axes, shown, max(trivial, default=None))
        axes.set_xlabel("step", fontsize=9)
    if any(arm.count("diverged") for arm in arms):
        handles["diverged"] = mark = panel_axes[0].plot([], [], linestyle="", **DIVERGED)[0]
        mark.set_label("diverged")
    legend(figure, handles, "outside lower left", columns)
    return figure


def curve_of(rows: list[dict[str, Any]], metric: str) -> Series:
    """A metric by step; of training, whose batches are small, the mean of the last rows."""
    steps, values = series(rows, metric)
    return steps, trailing_mean(values, SMOOTHED) if metric.startswith("train/") else values


def trailing_mean(values: list[float], width: int) -> list[float]:
    """Mean of each value and those before it, `width` of them where there are so many.

    >>> trailing_mean([1.0, 3.0, 5.0, 7.0], 2)
    [1.0, 2.0, 4.0, 6.0]
    """
    windows = (values[max(0, end - width) : end] for end in range(1, len(values) + 1))
    return [sum(window) / len(window) for window in windows]


def draw_arm(axes: Any, arm: Arm, curves: list[Series], index: int) -> tuple[Any, list[float]]:
    """Draw an arm's mean and range, and its diverged runs; the line for the legend, and every value shown."""
    steps, low, mean, high = mean_and_range(curves)
    style = marked_style(index, len(steps))
    (line,) = axes.plot(steps, mean, **style)
    axes.fill_between(steps, low, high, color=style["color"], alpha=0.13, linewidth=0)
    shown = [*low, *high]
    for run, (run_steps, values) in zip(arm.runs, curves, strict=True):
        if run.status == "diverged":
            finite = [(step, value) for step, value in zip(run_steps, values, strict=True) if value == value]
            if not finite:
                continue
            axes.plot(*zip(*finite, strict=True), **line_style(index) | {"linewidth": 0.8})
            axes.plot(*finite[-1], **DIVERGED, zorder=5)
            shown += [value for _, value in finite]
    return line, shown


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
