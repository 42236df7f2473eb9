"""One Transformer block: attention and MLP, wired by a placement.

Shapes: B examples, L positions, D model width, F feed-forward width.
"""

from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.network.attention import SelfAttention
from normtrial.norms.base import Norm
from normtrial.placements.base import Placement, Sublayers

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu}


class Mlp(nn.Module):
    """Linear D → F, activation, Linear F → D, dropout."""

    def __init__(self, d_model: int, d_ff: int, activation: str, dropout: float):
        super().__init__()
        self.input = nn.Linear(d_model, d_ff)
        self.output = nn.Linear(d_ff, d_model)
        self.activation, self.dropout = ACTIVATIONS[activation], dropout

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Each position by itself."""
        return F.dropout(self.output(self.activation(self.input(x_BLD))), self.dropout, self.training)


class Block(nn.Module):
    """The sublayers and norms of one layer; the placement says how they are wired."""

    def __init__(self, attention: SelfAttention, mlp: Mlp, placement: Placement, make_norm: Callable[[], Norm]):
        super().__init__()
        self.attention, self.mlp, self.placement = attention, mlp, placement
        for site in placement.norm_sites:
            self.add_module(site, make_norm())

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None, cond_BLD: Tensor) -> Tensor:
        """The stream after this layer."""
        parts = Sublayers(
            attention=lambda x: self.attention(x, mask_BL),
            mlp=self.mlp,
            norm={site: self._bind(site, mask_BL, cond_BLD) for site in self.placement.norm_sites},
        )
        return self.placement(x_BLD, parts)

    def _bind(self, site: str, mask_BL: Tensor | None, cond_BLD: Tensor) -> Callable[[Tensor], Tensor]:
        norm = self.get_submodule(site)
        return lambda x: norm(x, mask_BL, cond_BLD)
