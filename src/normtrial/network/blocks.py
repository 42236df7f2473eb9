"""One Transformer block: attention and MLP, wired by a placement.

Shapes: B examples, L positions, D model width, F feed-forward width.
"""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.network.attention import SelfAttention
from normtrial.network.convolution import Convolution
from normtrial.norms.base import Norm
from normtrial.placements.base import SUBLAYERS, Placement, Sublayers

DROPPED = ("branches", "norms")  # whose output dropout is on
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu}


class Mlp(nn.Module):
    """Linear D → F, activation, `inner_norm` where a placement puts one, Linear F → D, dropout."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float):
        super().__init__()
        self.norm_width = d_ff
        self.input = nn.Linear(d_model, d_ff)
        self.inner_norm: Norm | None = None
        self.output = nn.Linear(d_ff, d_model)
        self.activation, self.dropout = ACTIVATIONS[activation], dropout

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Each position by itself, unless the inner norm looks at others."""
        y_BLF = self.activation(self.input(x_BLD))
        if self.inner_norm is not None:
            cond_BLF = None if cond_BLD is None else repeated(cond_BLD, self.norm_width)
            y_BLF = self.inner_norm(y_BLF, mask_BL, cond_BLF)
        return F.dropout(self.output(y_BLF), self.dropout, self.training)

    def branch_weights(self) -> list[Tensor]:
        """Both matrices: what a companion initialization scales."""
        return [self.input.weight, self.output.weight]


class Block(nn.Module):
    """The sublayers and norms of one layer; the placement says how they are wired."""

    def __init__(
        self,
        attention: SelfAttention | Convolution,
        mlp: Mlp,
        placement: Placement,
        make_norm: Callable[[int], Norm],
        norm_dropout: float = 0.0,
    ):
        super().__init__()
        self.norm_dropout = norm_dropout  # share dropped of what the norms around the sublayers give
        self.attention, self.mlp, self.placement = attention, mlp, placement
        self.norm_width = attention.norm_width
        for site in placement.norm_sites():
            path, _, name = site.rpartition(".")
            owner: Any = self.get_submodule(path)
            setattr(owner, name, make_norm(owner.norm_width))

    def forward(self, stream: Any, mask_BL: Tensor | None, cond_BLD: Tensor) -> Any:
        """The stream after this layer."""

        def bound(site: str) -> Callable[[Tensor], Tensor]:
            module = self.get_submodule(site)
            return lambda x: module(x, mask_BL, cond_BLD)

        def dropped(site: str) -> Callable[[Tensor], Tensor]:
            normed = bound(site)
            return lambda x: F.dropout(normed(x), self.norm_dropout, self.training)

        norm = dropped if self.norm_dropout else bound
        norms = {site: norm(site) for site in self.placement.norms_around()}
        parts = Sublayers(bound("attention"), bound("mlp"), norms)
        return self.placement(stream, parts)

    def sites(self) -> dict[str, nn.Module]:
        """Norms and sublayers by name, in the order of the forward pass; what a sublayer contains before it.

        The placement itself is one where it has parameters; its output is the stream after the block.
        """
        found: dict[str, nn.Module] = {}
        for part in (part for part in self.placement.order if "." not in part):
            module = self.get_submodule(part)
            if part in SUBLAYERS:
                inner = (child for child in module.named_children() if child[0].endswith("_norm"))
                found |= {f"{part}.{name}": norm for name, norm in inner}
            found[part] = module
        if any(True for _ in self.placement.parameters()):
            found["placement"] = self.placement
        return found


def repeated(cond_BLD: Tensor, width: int) -> Tensor:
    """The features of a condition over and over, up to a width: a norm's condition is as wide as its input."""
    times = -(-width // cond_BLD.shape[-1])
    return cond_BLD.repeat(1, 1, times)[..., :width]
