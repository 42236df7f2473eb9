"""Intervals small enough for a table's cell, all of a column on one axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normtrial.report.figures.style import visible_range
from normtrial.report.inference import Interval

WIDTH = 120  # units of the drawing; the page scales it


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places in a cell."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value stands, cut at both ends.

        >>> Scale(0.0, 2.0).place(1.0), Scale(0.0, 2.0).place(9.0)
        (60.0, 119.0)
        """
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return round(min(max(share * WIDTH, 1.0), WIDTH - 1.0), 1)

    def has(self, interval: Interval) -> bool:
        """Whether there is anything to draw."""
        return math.isfinite(interval.estimate)

    def limits(self, interval: Interval) -> tuple[float, float]:
        """Both ends of a whisker; where there is no interval, the estimate twice."""
        ends = (interval.low, interval.high) if math.isfinite(interval.low) else (interval.estimate,) * 2
        return self.place(ends[0]), self.place(ends[1])


def scale_of(intervals: Sequence[Interval], zero: bool = False) -> Scale:
    """An axis for all estimates and most of their whiskers."""
    there = [one for one in intervals if math.isfinite(one.estimate)]
    estimates = [one.estimate for one in there] + [0.0] * zero
    if not estimates:
        return Scale(0.0, 0.0)
    return Scale(*visible_range(estimates, [one.high - one.estimate for one in there if math.isfinite(one.high)]))
