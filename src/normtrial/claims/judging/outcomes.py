"""One number of a run, as a claim reads it. A diverged run is never left out.

It counts as the worst value: 0 for an accuracy, the trivial predictor's value for a loss, the whole run for steps
to a target. Where a reading has no worst value (a gap, a mean over steps that never came) the value is NaN, and
the judge says so instead of passing over it.
"""

import bisect
import itertools
import math
import statistics
from collections.abc import Sequence

import numpy as np

from normtrial.claims.claim.training import Outcome
from normtrial.claims.judging.evidence import RunRecord
from normtrial.report.outcome import outcome_for


def value_of(run: RunRecord, outcome: Outcome) -> float:
    """The outcome of one run."""
    if outcome.read == "diverged":
        return float(not trains(run, outcome.metric))
    if outcome.read == "happened":
        counts = [num for _, num in run.series.get(outcome.metric, [])]
        return float(max(counts) > 0) if counts else math.nan
    if outcome.read == "steps_to_target":
        value, _ = steps_to_target(run, outcome)
    else:
        value = plain(run, outcome, outcome.metric)
        if outcome.minus is not None:
            value -= plain(run, outcome, outcome.minus)
        if outcome.over is not None:
            divisor = plain(run, outcome, outcome.over)
            value = value / divisor if divisor else math.nan
    if not outcome.log:
        return value
    return math.log(value) if value > 0 else math.nan


def plain(run: RunRecord, outcome: Outcome, name: str) -> float:
    """A metric of a run, read as the outcome says."""
    is_gap = outcome.minus is not None or outcome.over is not None
    if run.status == "diverged" and (outcome.read in ("final", "best")):
        return math.nan if is_gap else worst(run, name)
    points = in_window(run.series.get(name, []), outcome.window)
    if not points:
        return math.nan
    values = [value for _, value in points]
    if outcome.read == "final":
        return values[-1]
    if outcome.read == "best":
        return outcome_for(name, None).best(values)
    if outcome.window is not None and run.steps < outcome.window[1]:
        return math.nan  # it ended within the window
    if outcome.read == "mean":
        return float(np.mean(values))
    return detrended_deviation(points)


def worst(run: RunRecord, name: str) -> float:
    """What a diverged run gets: 0 where more is better; where less is, the trivial predictor's value.

    Or its own last value, if that is worse: diverging is never better than ending badly.
    """
    found = outcome_for(name, None)
    if found.direction == "max":
        return found.worst
    values = [run.trivial.get(name.rsplit("/", 1)[1]), run.last(name)]
    return max((value for value in values if value is not None), default=math.nan)


def in_window(points: Sequence[tuple[int, float]], window: list[int] | None) -> list[tuple[int, float]]:
    """The points of some steps."""
    first, last = window or (0, math.inf)
    return [(step, value) for step, value in points if first <= step <= last]


def steps_to_target(run: RunRecord, outcome: Outcome) -> tuple[float, bool]:
    """(steps, censored): where the target is reached, on a line between two evaluations; else all planned steps.

    So what is compared is the time up to the end of the run, at most: an arm that never gets there counts with
    the longest time there is, and its difference to another is a lower bound.
    """
    assert outcome.target is not None
    sign = 1 if outcome_for(outcome.metric, None).direction == "max" else -1
    before: tuple[int, float] | None = None
    for step, value in run.series.get(outcome.metric, []):
        if sign * value >= sign * outcome.target:
            if before is None or value == before[1]:
                return float(step), False
            share = (outcome.target - before[1]) / (value - before[1])
            return before[0] + share * (step - before[0]), False
        before = step, value
    return float(run.planned), True


def detrended_deviation(points: Sequence[tuple[int, float]]) -> float:
    """Standard deviation around a quadratic in the step: what oscillates, without what falls."""
    if len(points) < 5:
        return math.nan
    steps, values = np.array([step for step, _ in points], dtype=float), np.array([value for _, value in points])
    fit = np.polynomial.Polynomial.fit(steps, values, 2)
    return float(np.sqrt(((values - fit(steps)) ** 2).sum() / (len(points) - 3)))


def largest_rate(runs: dict[float, RunRecord], metric: str) -> float:
    """The largest learning rate up to which every rate of the grid trains, in ln; one seed.

    Rates below the first that trains are too slow for so many steps, not too large, and are passed over. Where
    none trains it is half of the smallest, a value under the grid. The true bound lies between this rate and the
    next of the grid: see `slack`.
    """
    fast_enough = itertools.dropwhile(lambda rate: not trains(runs[rate], metric), sorted(runs))
    bearable = list(itertools.takewhile(lambda rate: trains(runs[rate], metric), fast_enough))
    return math.log(bearable[-1] if bearable else min(runs) / 2)


def trains(run: RunRecord, metric: str) -> bool:
    """Whether a run ends better than the trivial predictor: a loss by 1 %, a score by 5 % of the rest."""
    value, trivial = run.last(metric), run.trivial[metric.rsplit("/", 1)[1]]
    if run.status == "diverged" or value is None:
        return False
    if outcome_for(metric, None).direction == "max":
        return value > trivial + 0.05 * (1 - trivial)
    return value < 0.99 * trivial


def knows_trivial(run: RunRecord, metric: str) -> bool:
    """Whether the trivial predictor's value of a metric is known."""
    return metric.rsplit("/", 1)[1] in run.trivial


def slack(weights: dict[str, float], values: dict[str, list[float]], grid: Sequence[float]) -> tuple[float, float]:
    """How far below and above a contrast of largest rates the truth may lie, by the grid alone.

    A bound lies below the grid's next rate: over seeds, a mean notch above what was found; where the whole grid is
    usable anywhere above, where nothing is anywhere below.

    >>> low, high = slack({"a": 1.0, "b": -1.0}, {"a": [math.log(1)], "b": [math.log(2)]}, [1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (0.405, 0.693)
    >>> slack({"a": 1.0, "b": -1.0}, {"a": [math.log(4)], "b": [math.log(2)]}, [1.0, 2.0, 4.0])[1]
    inf
    """
    rates = [math.log(rate) for rate in sorted(grid)]
    notches = [after - before for before, after in itertools.pairwise([rates[0] - math.log(2), *rates])]
    low = high = 0.0
    for arm, weight in weights.items():
        next_ones = [bisect.bisect(rates, value + 1e-9) for value in values[arm]]
        above = math.inf if max(next_ones) == len(rates) else statistics.fmean(notches[n] for n in next_ones)
        below = math.inf if min(values[arm]) < rates[0] - 1e-9 else 0.0
        if weight < 0:
            above, below = below, above
        low, high = low + abs(weight) * below, high + abs(weight) * above
    return low, high
