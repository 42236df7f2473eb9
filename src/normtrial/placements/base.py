"""The seam of every placement: how one block's two sublayers and its norms are wired around the residual stream.

A placement is written as the formula it is: `f.attention`, `f.mlp` and the norms in `f` are functions of a
stream x_BLD, with mask and condition already bound.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from normtrial.errors import not_one_of

Function = Callable[[Tensor], Tensor]

SUBLAYERS = ("attention", "mlp")
INITS = ("auto", "plain")


@dataclass(kw_only=True, slots=True)
class PlacementConfig:
    """What every placement has."""

    name: str  # the catalogue's name; comes from the chosen option

    def check(self) -> None:
        """Raise `ConfigError` where a value is out of range."""


@dataclass(kw_only=True, slots=True)
class InitConfig(PlacementConfig):
    """A placement that was published with an initialization of its own."""

    init: str  # auto: the placement's own scale of the initial weights; plain: that of all other placements

    def check(self) -> None:
        """A known initialization."""
        if self.init not in INITS:
            raise not_one_of("placement.init", self.init, INITS)


@dataclass(slots=True)
class Sublayers:
    """What a placement wires together in one block."""

    attention: Function
    mlp: Function
    norm: dict[str, Function]


class Placement(nn.Module):
    """The wiring of one block. Subclasses draw their residual path and write `forward` as its formula.

    Attributes:
        order: the sites of a block in the order of the forward pass. What is neither "attention" nor "mlp" is a
            norm that the block owns; "attention.q_norm" (k_norm, v_norm) stands on the projected queries (keys,
            values), "attention.inner_norm" and "mlp.inner_norm" in front of that sublayer's output projection.
        final_norm: True where the stack needs one more norm before the head, because the stream leaves the
            last block unnormalized.
        embed_norm: True where a norm stands between the embedding and the first block.
        init_scale: factor on the initial weights of the MLP and of the value and output projections.
        Config: the dataclass of its options.

    Parameters of a placement set their own initial value and are not decayed.
    """

    order: tuple[str, ...] = ("norm1", "attention", "norm2", "mlp")
    final_norm: ClassVar[bool]
    embed_norm: ClassVar[bool] = False
    init_scale: float = 1.0
    Config: ClassVar[type[PlacementConfig]] = PlacementConfig

    def __init__(self, config: Any, layer: int, num_layers: int):
        super().__init__()
        self.layer, self.num_layers = layer, num_layers

    @classmethod
    def norm_sites(cls) -> tuple[str, ...]:
        """Names of the norms that a block owns; a dotted one stands inside a sublayer."""
        return tuple(site for site in cls.order if site not in SUBLAYERS)

    @classmethod
    def norms_around(cls) -> tuple[str, ...]:
        """Those of the norms that stand around the sublayers, not inside one."""
        return tuple(site for site in cls.norm_sites() if "." not in site)

    @classmethod
    def uses_norms(cls) -> bool:
        """False where the configured norm stands nowhere."""
        return bool(cls.norm_sites()) or cls.final_norm or cls.embed_norm

    @staticmethod
    def enter(x_BLD: Tensor) -> Any:
        """The stream in front of the first block: one residual path, unless a placement keeps more."""
        return x_BLD

    @staticmethod
    def leave(stream: Any, final_norm: Function) -> Tensor:
        """What the head sees; `final_norm` is the identity where the stack has none."""
        return final_norm(stream)

    def forward(self, stream: Any, f: Sublayers, /) -> Any:
        """The stream after this block."""
        raise NotImplementedError
