"""Two ways of doing something, timed by turns in one process."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Clock = Callable[[], float]


def paired_seconds(
    one: Callable[[], Any], other: Callable[[], Any], num_pairs: int = 9, clock: Clock = time.perf_counter
) -> list[tuple[float, float]]:
    """Times of `one` and of `other`, from pairs that follow each other: A B B A A B …

    The order within a pair alternates, and the first pair, which warms up, does not count. `time.process_time` as
    clock counts this process's own CPU time, which steadies the ratio further where all the work is in it. Work on
    a GPU must synchronize at its end.
    """
    found = []
    for pair in range(num_pairs + 1):
        first, second = (one, other) if pair % 2 else (other, one)
        seconds = _seconds(first, clock), _seconds(second, clock)
        found.append(seconds if pair % 2 else seconds[::-1])
    return found[1:]


def paired_ratios(
    one: Callable[[], Any], other: Callable[[], Any], num_pairs: int = 9, clock: Clock = time.perf_counter
) -> list[float]:
    """Time of `other` over that of `one`, from `paired_seconds`.

    A machine that is busy with something else slows both of a pair alike, so their ratio says more than two means.
    """
    return [theirs / ours for ours, theirs in paired_seconds(one, other, num_pairs, clock)]


def ratios_of_short(
    one: Callable[[], Any], other: Callable[[], Any], num_pairs: int, clock: Clock = time.perf_counter
) -> tuple[list[float], float]:
    """`paired_ratios` of a single call, for what is too short to be timed; and the seconds of a call of `other`.

    Each is called so often that its turn lasts 20 ms.
    """
    first, second = Repeated(one, clock), Repeated(other, clock)
    ratios = paired_ratios(first, second, num_pairs, clock)
    return [ratio * first.times / second.times for ratio in ratios], statistics.median(second.seconds)


class Repeated:
    """Something short, so often that a turn lasts `least` seconds.

    Attributes:
        times: how often in a turn.
        seconds: of one call, a number a turn.
    """

    def __init__(self, work: Callable[[], Any], clock: Clock = time.perf_counter, least: float = 0.02):
        self._work, self._clock = work, clock
        self.times, self.seconds = 1, list[float]()
        while (took := _seconds(self, clock)) < least / 2:
            self.times *= 2
        self.times = math.ceil(self.times * max(1.0, least / took))
        self.seconds.clear()

    def __call__(self) -> None:
        """A turn."""
        began = self._clock()
        for _ in range(self.times):
            self._work()
        self.seconds.append((self._clock() - began) / self.times)


def _seconds(work: Callable[[], Any], clock: Clock) -> float:
    began = clock()
    work()
    return clock() - began


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ratios of one thing to what it is compared with."""

    name: str
    ratios: list[float]

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.ratios)

    @property
    def quartiles(self) -> tuple[float, float]:
        """Between which the middle half of the ratios lies.

        >>> Comparison("twice", [1.9, 2.0, 2.1, 2.0, 2.0]).quartiles
        (2.0, 2.0)
        """
        lower, _, upper = statistics.quantiles(self.ratios, n=4, method="inclusive")
        return lower, upper

    def spread_over(self, times: int) -> "Comparison":
        """What it costs if it happens only every so many times: its excess divided.

        >>> Comparison("often", [1.5]).spread_over(10).ratios
        [1.05]
        """
        return Comparison(self.name, [1 + (ratio - 1) / times for ratio in self.ratios])
