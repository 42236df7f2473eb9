"""Cost as a power of size."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import linregress


@dataclass(frozen=True, slots=True)
class Power:
    """seconds = factor · size^exponent, with the exponent's standard error; fitted from `smallest` on."""

    exponent: float
    error: float
    factor: float
    smallest: int

    def at(self, size: float) -> float:
        """The fitted seconds."""
        return self.factor * size**self.exponent


def fit(sizes: Sequence[int], rounds: Sequence[Sequence[float]]) -> Power:
    """Least squares in logarithms, over the upper half of the sizes, where fixed costs weigh least.

    Args:
        sizes: rising.
        rounds: of every size its seconds, one number a round; each is a point.

    >>> found = fit([1, 2, 4, 8, 16], [[5], [5], [3 * 4**1.5], [3 * 8**1.5], [3 * 16**1.5]])
    >>> f"{found.exponent:.2f} from {found.smallest} on, {found.at(1):.1f} at 1"
    '1.50 from 4 on, 3.0 at 1'
    """
    upper = len(sizes) // 2
    points = [
        (math.log(size), math.log(seconds))
        for size, times in zip(sizes[upper:], rounds[upper:], strict=True)
        for seconds in times
    ]
    x, y = map(list, zip(*points, strict=True))
    found: Any = linregress(x, y)  # its type stubs know no named fields
    return Power(float(found.slope), float(found.stderr), math.exp(found.intercept), sizes[upper])
