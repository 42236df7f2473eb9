"""The largest number that comes out of each site."""

from typing import Any

from torch import nn

from normtrial.probes.activations.tokens import mask_of, stream_of, valid_tokens
from normtrial.probes.base import OutputProbe, Values


class LargestActivations(OutputProbe):
    """max |output| over valid tokens and features, of every site and of the stream after each block.

    Logged as `activation/<site>/max_abs`: how near half precision is to its 65,504, and whether a BatchNorm with a
    collapsed σ_B (`stats/<site>/log_sigma_min`) blows up. The embedding knows no mask and includes pads.
    """

    section = "activation"

    def place(self, module: nn.Module) -> nn.Module | None:
        """Everywhere."""
        return module

    def read(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Values:
        """The one number; NaN where one is."""
        return {"max_abs": valid_tokens(stream_of(output), mask_of(inputs)).abs().amax()}
