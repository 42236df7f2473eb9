"""What a run has learned about itself so far: part of every checkpoint, and the body of the summary."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from normtrial.training.metrics import find

COUNTED = ("nonfinite_loss", "nonfinite_grad", "scaler_skip", "spike")  # in every row: a curve starts at 0


@dataclass(slots=True)
class Progress:
    """Step reached, last and best values, events so far."""

    step: int = 0
    updates: int = 0  # steps that the optimizer has taken: those that were skipped do not count
    seconds: float = 0.0  # wall time spent in the loop, over all sessions
    metrics: dict[str, float] = field(default_factory=dict)  # the last value of each
    best: dict[str, list[float]] = field(default_factory=dict)  # [value, step] of evaluation metrics
    events: dict[str, int] = field(default_factory=dict)  # how many of a kind

    def note(self, row: dict[str, Any]) -> None:
        """Take over the values of a row."""
        for name, value in row.items():
            if name == "step":
                continue
            self.metrics[name] = value
            if name.startswith("val/"):  # never test: choosing by it would use it up
                self._note_best(name, value, row["step"])

    def _note_best(self, name: str, value: float, step: int) -> None:
        metric = find(name)
        if metric is None or metric.direction is None or not math.isfinite(value):
            return
        sign = 1 if metric.direction == "max" else -1
        if name not in self.best or sign * value > sign * self.best[name][0]:
            self.best[name] = [value, step]

    def count(self, kind: str) -> None:
        """One more event of a kind."""
        self.events[kind] = self.events.get(kind, 0) + 1

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for checkpoint and summary."""
        return asdict(self)


def counters(events: dict[str, int]) -> dict[str, int]:
    """How many events there have been so far, of every kind that rows tell about."""
    return dict.fromkeys(COUNTED, 0) | events
