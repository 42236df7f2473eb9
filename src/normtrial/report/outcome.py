"""The outcome by which arms are compared: a metric, which way is better, and what a diverged run gets."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from normtrial.errors import ConfigError, not_one_of
from normtrial.training.metrics import METRICS, find

DEFAULT = {"classification": "val/accuracy", "lm": "val/loss_nats"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """A metric with its direction, "min" or "max"."""

    metric: str
    direction: str

    @property
    def worst(self) -> float:
        """What a diverged run gets: 0 where more is better (accuracy, F1), infinity where less is."""
        return 0.0 if self.direction == "max" else math.inf

    def best(self, values: Sequence[float]) -> float:
        """The best of several values."""
        return max(values) if self.direction == "max" else min(values)

    def rank(self, mean: float) -> float:
        """A sorting key: the best mean first, and one that does not exist last."""
        if not math.isfinite(mean):
            return math.inf
        return -mean if self.direction == "max" else mean


def outcome_for(metric: str | None, task: str | None) -> Outcome:
    """The named metric as an outcome, or the task's default.

    >>> outcome_for(None, "lm")
    Outcome(metric='val/loss_nats', direction='min')
    """
    name = metric or DEFAULT[task or "lm"]
    found = find(name)
    if found is None:
        raise not_one_of("metric", name, [row.pattern for row in METRICS if row.direction])
    if found.direction is None:
        raise ConfigError(
            f"metric {name!r} has no better or worse; compare by one that has, such as val/loss_nats."
        )
    return Outcome(name, found.direction)
