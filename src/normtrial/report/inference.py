"""Intervals of means and proportions; needs no torch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its limits at a level of confidence."""

    estimate: float
    low: float
    high: float


def t_limits(values: np.ndarray, alpha: float = ALPHA) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and both limits over the last axis: mean ± t(1 − α/2, n − 1) s / √n, s with n − 1 below."""
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


def wilson(successes: int, num: int, alpha: float = ALPHA) -> Interval:
    """Interval of a proportion (Wilson 1927): holds at 0 of n, too.

    >>> interval = wilson(0, 8)
    >>> interval.low, round(interval.high, 3)
    (0.0, 0.324)
    """
    found = stats.binomtest(successes, num).proportion_ci(1 - alpha, method="wilson")
    return Interval(successes / num, float(found.low), float(found.high))
