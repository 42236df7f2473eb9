"""Final metric by learning rate: each family of arms over the shared grid, with the interval of its seeds."""

import math
from typing import Any

from normtrial.report.figures.style import (
    DIVERGED,
    PAGE_WIDTH,
    legend,
    marked_style,
    new_figure,
    tidy,
    visible_range,
)
from normtrial.report.inference import Interval
from normtrial.report.outcome import Outcome
from normtrial.report.pairs import mean_interval
from normtrial.report.rates import Family

MOST_TICKS = 12  # more rates than that are no grid, and have no room


def by_rate(families: list[Family], outcome: Outcome) -> Any:
    """One line a family, an error bar an arm; a cross on the frame where an arm's mean does not exist."""
    figure = new_figure(PAGE_WIDTH, max(3.8, 0.24 * len(families) + 1.5))
    axes = figure.subplots()
    tidy(axes, f"{outcome.metric} by learning rate", "")
    handles: dict[str, Any] = {}
    failed: list[float] = []
    seen: list[Interval] = []
    for index, family in enumerate(families):
        found = {rate: mean_interval(arm.values(outcome)) for rate, arm in family.arms.items()}
        there = {rate: one for rate, one in found.items() if math.isfinite(one.estimate)}
        failed += [rate for rate, one in found.items() if math.isinf(one.estimate)]
        style = marked_style(index, len(there)) | {"markevery": 1}
        seen += there.values()
        values = [one.estimate for one in there.values()]
        (handles[family.name],) = axes.plot(list(there), values, **style)
        for rate, one in there.items():
            if math.isfinite(one.low):
                axes.plot([rate, rate], [one.low, one.high], color=style["color"], linewidth=1, alpha=0.6)
    if failed:
        edge = axes.get_xaxis_transform()  # of no value, so at the upper frame
        (handles["an arm with a diverged run"],) = axes.plot(
            failed, [0.97] * len(failed), linestyle="", transform=edge, **DIVERGED
        )
    if seen:
        halves = [one.high - one.estimate for one in seen if math.isfinite(one.high)]
        axes.set_ylim(*visible_range([one.estimate for one in seen], halves))
    axes.set_xscale("log")
    rates = sorted({rate for family in families for rate in family.arms})
    if len(rates) <= MOST_TICKS:
        axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
        axes.minorticks_off()
    axes.set_xlabel("optim.lr", fontsize=9)
    legend(figure, handles)
    return figure
