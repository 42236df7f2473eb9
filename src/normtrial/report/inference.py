"""Statistics of verdicts: intervals, p-values, what could have been seen, and how many seeds would settle it.

Values are differences of two arms, one a seed. Verdicts rest on the t interval; `scripts/claim.py validity`
measures what it and others hold at n = 5. Needs no torch.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, stats

ALPHA = 0.05
POWER = 0.8
RESAMPLES = 5000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its limits at a level of confidence."""

    estimate: float
    low: float
    high: float

    def widened(self, low: float, high: float) -> "Interval":
        """With so much more room on either side, for what is known within bounds only."""
        return Interval(self.estimate, self.low - low, self.high + high)


def t_limits(values: np.ndarray, alpha: float = ALPHA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and both limits over the last axis: mean ± t(1 − α/2, n − 1) s / √n, s the unbiased deviation."""
    num = values.shape[-1]
    mean = values.mean(-1)
    half = stats.t.ppf(1 - alpha / 2, num - 1) * values.std(-1, ddof=1) / math.sqrt(num)
    return mean, mean - half, mean + half


def t_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Student's interval of the mean of at least two values; a point where all are equal.

    >>> interval = t_interval([1.0, 2.0, 3.0])
    >>> round(interval.low, 3), round(interval.high, 3)
    (-0.484, 4.484)
    """
    return Interval(*(float(limit) for limit in t_limits(np.asarray(values, dtype=float), alpha)))


def t_p_value(values: Sequence[float]) -> float:
    """Two-sided p of the mean being 0; of values that are all equal 1 where they are 0, else 0.

    >>> round(t_p_value([1.0, 2.0, 3.0]), 4)
    0.0742
    """
    if np.ptp(values) == 0:
        return float(values[0] == 0)
    found: Any = stats.ttest_1samp(values, 0.0)
    return float(found.pvalue)


def bootstrap_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """BCa interval of the mean (Efron 1987), always from the same resamples; shown beside the t interval.

    >>> bootstrap_interval([2.0, 2.0, 2.0])
    Interval(estimate=2.0, low=2.0, high=2.0)
    """
    mean = float(np.mean(values))
    if np.ptp(values) == 0:
        return Interval(mean, mean, mean)
    found = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=1 - alpha,
        method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Interval(mean, float(found.low), float(found.high))


def median_interval(values: Sequence[float], alpha: float = ALPHA) -> Interval:
    """Interval of the median between two of the values, by the sign test: one slow moment moves nothing.

    >>> median_interval([1.0] * 10 + [2.0] * 10 + [99.0])
    Interval(estimate=2.0, low=1.0, high=2.0)
    """
    found = stats.quantile_test(values, p=0.5).confidence_interval(1 - alpha)
    return Interval(float(np.median(values)), float(found.low), float(found.high))


def wilson(successes: int, num: int, alpha: float = ALPHA, *, corrected: bool = False) -> Interval:
    """Interval of a proportion (Wilson 1927): holds at 0 of n, too. `corrected` for continuity, which is wider.

    >>> interval = wilson(0, 8)
    >>> interval.low, round(interval.high, 3)
    (0.0, 0.324)
    """
    found = stats.binomtest(successes, num).proportion_ci(1 - alpha, method="wilsoncc" if corrected else "wilson")
    return Interval(successes / num, float(found.low), float(found.high))


def rate_difference(one: tuple[int, int], other: tuple[int, int], alpha: float = ALPHA) -> Interval:
    """Interval of p₁ − p₂ from two Wilson intervals, each of (successes, num).

    Newcombe 1998, method 11: corrected for continuity. Without (method 10) two equal rates of 1/2 are told apart
    in 8 % of experiments with 8 runs each; so in 2 %.

    >>> interval = rate_difference((8, 8), (0, 8))
    >>> round(interval.low, 3), interval.high
    (0.431, 1.0)
    """
    first, second = wilson(*one, alpha, corrected=True), wilson(*other, alpha, corrected=True)
    estimate = first.estimate - second.estimate
    below = math.hypot(first.estimate - first.low, second.high - second.estimate)
    above = math.hypot(first.high - first.estimate, second.estimate - second.low)
    return Interval(estimate, max(-1.0, estimate - below), min(1.0, estimate + above))


def p_of(interval_at: Callable[[float], Interval]) -> float:
    """The smallest α at which an interval excludes 0: its two-sided p-value.

    >>> p = p_of(lambda alpha: t_interval([1.0, 2.0, 3.0], alpha))
    >>> round(p, 4)
    0.0742
    """
    tiny, most = 1e-12, 1 - 1e-12

    def distance(alpha: float) -> float:
        interval = interval_at(alpha)
        return interval.low if interval.estimate > 0 else -interval.high

    if interval_at(most).estimate == 0:
        return 1.0
    if distance(tiny) > 0:
        return 0.0
    return _root(distance, tiny, most) if distance(most) > 0 else 1.0


def holm_levels(p_values: Sequence[float], alpha: float = ALPHA) -> list[float]:
    """The α at which each of a family is judged, so that all together err in α of cases (Holm 1979).

    The smallest p is held against α / m, the next against α / (m − 1), and so on; from the first that fails on all
    have its level. An interval of confidence 1 − level excludes 0 exactly where Holm rejects.

    >>> [round(level, 4) for level in holm_levels([0.001, 0.9, 0.02])]
    [0.0167, 0.05, 0.025]
    """
    levels = [0.0] * len(p_values)
    failed: float | None = None
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: (p_values[i], i))):
        level = alpha / (len(p_values) - rank)
        levels[index] = failed or level
        if failed is None and p_values[index] > level:
            failed = level
    return levels


def detectable_effect(deviation: float, num: int, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest mean that a two-sided t test of n values at α finds with this power (noncentral t).

    >>> round(detectable_effect(1.0, 8), 3)
    1.156
    """
    if deviation == 0:
        return 0.0
    bound, free = float(stats.t.ppf(1 - alpha / 2, num - 1)), num - 1

    def lacking(noncentrality: float) -> float:
        return float(stats.nct.sf(bound, free, noncentrality)) - power

    return _root(lacking, 0.0, 4 * bound + 10) * deviation / math.sqrt(num)


def detectable_rate(num: int, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """The smallest rate that n runs tell from none of n at α with this power; None where n of n would not do.

    Of k runs, the fewest that differ from 0 of n, there are so many with probability I_p(k, n - k + 1), the
    regularized incomplete beta function, whose inverse it is.

    >>> round(detectable_rate(20), 3)
    0.366
    """
    for k in range(1, num + 1):
        if rate_difference((k, num), (0, num), alpha).low > 0:
            return float(stats.beta.ppf(power, k, num - k + 1))
    return None


def seeds_until(
    settled: Callable[[Interval], bool], mean: float, deviation: float, num: int, alpha: float = ALPHA
) -> int | None:
    """The fewest seeds at which the interval settles it, if mean and deviation stay; None beyond 10,000.

    >>> seeds_until(lambda interval: interval.low > 0, mean=1.0, deviation=1.0, num=3)
    7
    """
    for wanted in range(max(num, 2), 10_001):
        half = float(stats.t.ppf(1 - alpha / 2, wanted - 1)) * deviation / math.sqrt(wanted)
        if settled(Interval(mean, mean - half, mean + half)):
            return wanted
    return None


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    found: Any = optimize.brentq(function, low, high)  # typed as if it gave more
    return float(found)
