"""What a run has learned about itself so far: part of every checkpoint, and the body of the summary."""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, runtime_checkable

from normtrial.training.metrics import find


@dataclass(slots=True)
class Progress:
    """Step reached, last and best values, events so far."""

    step: int = 0
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


@runtime_checkable
class Stateful(Protocol):
    """A part that remembers something from step to step (a probe with a window): checkpoints keep it."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        ...


def states(parts: Iterable[object]) -> dict[str, dict[str, Any]]:
    """The state of each part that has one, by the name of its class."""
    return {type(part).__name__: part.state_dict() for part in parts if isinstance(part, Stateful)}


def restore(parts: Iterable[object], kept: dict[str, dict[str, Any]]) -> None:
    """Give states back; a part that was not there before (probes may change on resume) starts anew."""
    for part in parts:
        if isinstance(part, Stateful) and type(part).__name__ in kept:
            part.load_state_dict(kept[type(part).__name__])
