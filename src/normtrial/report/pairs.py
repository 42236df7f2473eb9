"""An arm by itself and against its reference: means over seeds, differences seed by seed, with intervals.

A seed gives both arms the same initial weights, batches and dropout, so a difference at one seed has less noise
than either value; values without a partner are left out of the difference, and only of that.
"""

import math
import statistics
from collections.abc import Mapping, Sequence

from normtrial.report.inference import Interval, t_interval


def mean_interval(values: Sequence[float]) -> Interval:
    """Mean with its 95 % interval; without limits for a single value or where one is not finite (a diverged loss).

    >>> interval = mean_interval([0.5, 0.6, 0.7])
    >>> round(interval.low, 3), round(interval.estimate, 3), round(interval.high, 3)
    (0.352, 0.6, 0.848)
    >>> mean_interval([0.5])
    Interval(estimate=0.5, low=nan, high=nan)
    """
    if len(values) > 1 and all(map(math.isfinite, values)):
        return t_interval(values)
    return Interval(statistics.fmean(values) if values else math.nan, math.nan, math.nan)


def paired_difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Interval:
    """Mean of ours − theirs over the seeds that both have, with its 95 % interval.

    >>> paired_difference({0: 0.5, 1: 0.75, 2: 9.0}, {0: 0.25, 1: 0.5})
    Interval(estimate=0.25, low=0.25, high=0.25)
    """
    return mean_interval(differences(ours, theirs))


def differences(ours: Mapping[int, float], theirs: Mapping[int, float]) -> list[float]:
    """Ours − theirs at each seed that both have, in the order of seeds."""
    return [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())]
