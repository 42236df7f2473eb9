"""Time and tokens of training steps, between two logged rows; and what one way costs more than another."""

import time
from collections.abc import Callable
from typing import Any


class Stopwatch:
    """Time and tokens of steps since the last reading; what lies between steps does not count."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.seconds, self.waited, self.tokens, self.steps = 0.0, 0.0, 0, 0

    def add(self, seconds: float, waited: float, tokens: int) -> None:
        """One more step."""
        self.seconds += seconds
        self.waited += waited
        self.tokens += tokens
        self.steps += 1

    def read(self) -> dict[str, float]:
        """Means since the last reading, and start anew."""
        row = {
            "time/step_s": self.seconds / self.steps,
            "time/data_s": self.waited / self.steps,
            "throughput/tokens_per_s": self.tokens / self.seconds,
        }
        self._clear()
        return row


def paired_ratios(
    one: Callable[[], Any],
    other: Callable[[], Any],
    num_pairs: int = 9,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Time of `other` over that of `one`, from pairs that follow each other in one process: A B A B …

    A machine that is busy with something else slows both of a pair alike, so their ratio says more than two means.
    The order within a pair alternates, and the first pair, which warms up, does not count. `time.process_time` as
    clock counts this process's own CPU time, which steadies the ratio further where all the work is in it. Work on
    a GPU must synchronize at its end.
    """
    ratios = []
    for pair in range(num_pairs + 1):
        first, second = (one, other) if pair % 2 else (other, one)
        seconds = [_seconds(first, clock), _seconds(second, clock)]
        ratios.append(seconds[1] / seconds[0] if pair % 2 else seconds[0] / seconds[1])
    return ratios[1:]


def _seconds(work: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    work()
    return clock() - began
