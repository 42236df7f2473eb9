"""Sudden jumps of the training loss."""

import math
import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from normtrial.probes.base import Event, Probe, Sites

# One definition for all runs, so that their counts compare.
WINDOW = 50  # steps whose median is the usual loss
LEAST = 20  # steps before anything can be called unusual
NUM_MADS = 10.0  # k; of a normal distribution that is 6.7 standard deviations, once in 10^11 steps
FLOOR = 1e-3  # the least MAD, as a share of the median: a loss that stands still would make any digit a spike


class Spikes(Probe):
    """A `spike` event where loss > median + k MAD of the last 50 steps, k = 10, MAD = median |loss − median|.

    Needs every step's loss and costs a sort of 50 numbers. One event for a spike of several steps. A loss that is
    not finite is no spike: it has an event of its own.

    Median and MAD, since a spike inside the window hardly shifts either. On what spikes tell of a norm: Takase et
    al. 2025 (Spike No More), arXiv 2312.16903.
    """

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._recent: list[float] = []
        self._above = False

    def events(self, loss: float, row: Mapping[str, float]) -> Iterator[Event]:
        """One where a spike begins."""
        if not math.isfinite(loss):
            return
        began = False
        if len(self._recent) >= LEAST:
            median = statistics.median(self._recent)
            mad = statistics.median(abs(value - median) for value in self._recent)
            limit = median + NUM_MADS * max(mad, FLOOR * abs(median))
            began, self._above = loss > limit and not self._above, loss > limit
            if began:
                yield (
                    "spike",
                    None,
                    {"loss_nats": loss, "median_nats": median, "mad_nats": mad, "limit_nats": limit},
                )
        self._recent = [*self._recent, loss][-WINDOW:]

    def state(self) -> dict[str, Any]:
        """The window."""
        return {"recent": self._recent, "above": self._above}

    def load(self, state: dict[str, Any]) -> None:
        """Go on in it."""
        self._recent, self._above = list(state["recent"]), state["above"]
