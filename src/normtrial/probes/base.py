"""What probes share: the sites of a model, and what a probe is."""

from typing import Protocol

from torch import nn

Sites = dict[str, nn.Module]  # by stable name ("block03.norm1"), in the order of the model


class Probe(Protocol):
    """Reads the model after the backward pass of a logged step, before clipping; changes nothing."""

    def measure(self) -> dict[str, float]:
        """Metric names and values."""
        ...
