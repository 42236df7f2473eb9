"""The seam of every placement: how one block's two sublayers and its norms are wired around the residual stream.

A placement is written as the formula it is: `f.attention`, `f.mlp` and the norms in `f` are functions of a
stream x_BLD, with mask and condition already bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

Function = Callable[[Tensor], Tensor]


@dataclass(kw_only=True, slots=True)
class PlacementConfig:
    """What every placement has."""

    name: str  # the catalogue's name; comes from the chosen option

    def check(self) -> None:
        """Raise `ConfigError` where a value is out of range."""


@dataclass(slots=True)
class Sublayers:
    """What a placement wires together in one block."""

    attention: Function
    mlp: Function
    norm: dict[str, Function]


class Placement(nn.Module):
    """The wiring of one block. Subclasses draw their residual path and write `forward` as its formula.

    Attributes:
        norm_sites: names of the norms that a block owns.
        final_norm: True where the stack needs one more norm before the head, because the stream leaves the
            last block unnormalized.
        Config: the dataclass of its options.
    """

    norm_sites: ClassVar[tuple[str, ...]] = ("norm1", "norm2")
    final_norm: ClassVar[bool]
    Config: ClassVar[type[PlacementConfig]] = PlacementConfig

    def __init__(self, config: Any, layer: int, num_layers: int):
        super().__init__()
        self.layer, self.num_layers = layer, num_layers

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """The stream after this block."""
        raise NotImplementedError
