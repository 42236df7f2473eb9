"""What probes share: the sites of a model, and what a probe is."""

from typing import Protocol

from normtrial.sites import Sites, own_parameters

__all__ = ["Probe", "Sites", "own_parameters"]


class Probe(Protocol):
    """Reads the model after the backward pass of a logged step, before clipping; changes nothing."""

    def measure(self) -> dict[str, float]:
        """Metric names and values."""
        ...
