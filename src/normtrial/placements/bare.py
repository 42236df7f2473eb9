"""Placements without any norm: controls, whichever norm is chosen."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from normtrial.placements.base import Placement, PlacementConfig, Sublayers


class Bare(Placement):
    """No norm at all, also not before the head.

        x ──┬── attention ──(+)──┬── mlp ──(+)── x'
            └────────────────┘   └──────────┘

    x ← x + attention(x);  x ← x + mlp(x)

    Source: none; the control that shows what norms are for.
    """

    order = ("attention", "mlp")
    final_norm: ClassVar[bool] = False

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.attention(x_BLD)
        return x_BLD + f.mlp(x_BLD)


class ReZero(Placement):
    """No norm; each branch passes a learned gate that starts at 0, so the stack starts as the identity.

        x ──┬── attention ── ×gate1 ──(+)──┬── mlp ── ×gate2 ──(+)── x'
            └──────────────────────────┘   └───────────────────┘

    x ← x + gate1 · attention(x);  x ← x + gate2 · mlp(x)

    In the first step only the gates get a gradient inside the blocks.

    Source: Bachlechner et al. 2020, arXiv 2003.04887. Their Transformer shares one gate between a
    block's two sublayers; here each has its own.
    """

    order = ("attention", "mlp")
    final_norm: ClassVar[bool] = False

    def __init__(self, config: PlacementConfig, layer: int, num_layers: int):
        super().__init__(config, layer, num_layers)
        self.gate1, self.gate2 = (nn.Parameter(torch.zeros(())) for _ in range(2))

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + self.gate1 * f.attention(x_BLD)
        return x_BLD + self.gate2 * f.mlp(x_BLD)
