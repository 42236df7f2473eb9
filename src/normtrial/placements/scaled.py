"""Placements with a fixed factor that depends on depth: on the identity path, or on the norm's output."""

from typing import ClassVar

from torch import Tensor

from normtrial.placements.base import InitConfig, Placement, PlacementConfig, Sublayers


class DeepNorm(Placement):
    """Post with the identity path magnified by α = (2N)^¼, N blocks, and branches that start small.

        x ──┬── attention ──(+)── norm1 ──┬── mlp ──(+)── norm2 ── x'
            └── ×α ──────────┘            └── ×α ────┘

    x ← norm1(α x + attention(x));  x ← norm2(α x + mlp(x))

    Initial weights of the MLP, value and output projections ÷ (8N)^¼ (`init=auto`); `init=plain` keeps α alone.

    Source: Wang et al. 2022 (DeepNet), arXiv 2203.00555, figure 2, for an encoder or a decoder alone.
    """

    order = ("attention", "norm1", "mlp", "norm2")
    final_norm: ClassVar[bool] = False
    Config: ClassVar[type[PlacementConfig]] = InitConfig

    def __init__(self, config: InitConfig, layer: int, num_layers: int):
        super().__init__(config, layer, num_layers)
        self.alpha = (2 * num_layers) ** 0.25
        self.init_scale = (8 * num_layers) ** -0.25 if config.init == "auto" else 1.0

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = f.norm["norm1"](self.alpha * x_BLD + f.attention(x_BLD))
        return f.norm["norm2"](self.alpha * x_BLD + f.mlp(x_BLD))


class LayerNormScaling(Placement):
    """Pre whose norms' outputs shrink with depth: s = 1/sqrt(ℓ) in block ℓ = 1 … N.

        x ──┬── norm1 ── ×s ── attention ──(+)──┬── norm2 ── ×s ── mlp ──(+)── x'
            └───────────────────────────────┘   └────────────────────────┘
                                                                     then final_norm before the head

    x ← x + attention(s norm1(x));  x ← x + mlp(s norm2(x))

    Source: Sun et al. 2025 (the curse of depth), arXiv 2502.05795. The final norm is not scaled. The
    authors warn of a depth-scaled initialization beside it, so there is none.
    """

    final_norm: ClassVar[bool] = True

    def __init__(self, config: PlacementConfig, layer: int, num_layers: int):
        super().__init__(config, layer, num_layers)
        self.scale = (layer + 1) ** -0.5

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.attention(self.scale * f.norm["norm1"](x_BLD))
        return x_BLD + f.mlp(self.scale * f.norm["norm2"](x_BLD))
