"""What running statistics cost at evaluation: the same weights judged with running and with batch statistics."""

import math
from typing import Any

from normtrial.report.arms import Arm
from normtrial.report.figures.overlay import Read, mean_and_range
from normtrial.report.figures.style import (
    GREY,
    PAGE_WIDTH,
    Series,
    marked_style,
    new_figure,
    series,
    tidy,
    visible_range,
)
from normtrial.report.inference import Interval
from normtrial.report.outcome import Outcome
from normtrial.report.pairs import paired_difference


def with_batch_statistics(outcome: Outcome) -> Outcome:
    """The same metric with the batch's own statistics.

    >>> with_batch_statistics(Outcome("val/accuracy", "max")).metric
    'val/batch_stats/accuracy'
    """
    prefix, name = outcome.metric.rsplit("/", 1)
    return Outcome(f"{prefix}/batch_stats/{name}", outcome.direction)


def has_both(arm: Arm, outcome: Outcome) -> bool:
    """Whether an arm was evaluated both ways."""
    name = with_batch_statistics(outcome).metric
    return any(name in (run.summary or {}).get("metrics", {}) for run in arm.runs)


def evaluation_gap(arms: list[Arm], outcome: Outcome, read: Read) -> Any:
    """Running minus batch statistics: over steps, and at the end with its interval. None where no arm has both."""
    arms = [arm for arm in arms if has_both(arm, outcome)]
    if not arms:
        return None
    figure = new_figure(PAGE_WIDTH, max(3.2, 0.3 * len(arms) + 1.4))
    course, ends = figure.subplots(1, 2, width_ratios=(1.4, 1))
    tidy(course, "Running − batch statistics, over steps", outcome.metric)
    tidy(ends, "At the end, 95 % over seeds", "")
    seen: list[Interval] = []
    for index, arm in enumerate(arms):
        steps, low, mean, high = mean_and_range([gap_of(read(run), outcome) for run in arm.runs])
        style = marked_style(index, len(steps)) | {"markevery": 1}
        course.plot(steps, mean, **style)
        course.fill_between(steps, low, high, color=style["color"], alpha=0.13, linewidth=0)
        found = paired_difference(arm.by_seed(outcome), arm.by_seed(with_batch_statistics(outcome)))
        if math.isfinite(found.estimate):
            seen.append(found)
            ends.plot(found.estimate, index, linestyle="", marker=style["marker"], color=style["color"])
        if math.isfinite(found.low):
            ends.plot([found.low, found.high], [index, index], color=style["color"], linewidth=1.5)
    ends.set_yticks(range(len(arms)), [arm.name for arm in arms], fontsize=8)
    ends.set_ylim(len(arms) - 0.5, -0.5)
    if seen:
        halves = [one.high - one.estimate for one in seen if math.isfinite(one.high)]
        ends.set_xlim(*visible_range([0.0, *(one.estimate for one in seen)], halves))
    course.axhline(0, color=GREY, linewidth=0.8)
    ends.axvline(0, color=GREY, linewidth=0.8)
    course.set_xlabel("step", fontsize=9)
    ends.set_xlabel(outcome.metric, fontsize=9)
    return figure


def gap_of(rows: list[dict[str, Any]], outcome: Outcome) -> Series:
    """Running minus batch statistics at each evaluation of one run."""
    running, batch = (
        dict(zip(*series(rows, one.metric), strict=True)) for one in (outcome, with_batch_statistics(outcome))
    )
    steps = sorted(running.keys() & batch.keys())
    return steps, [running[step] - batch[step] for step in steps]
