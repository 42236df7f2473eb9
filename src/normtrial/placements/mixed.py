"""Placements that are Pre here and Post there: by layer, by sublayer, or on two streams at once."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from normtrial.errors import require
from normtrial.placements.base import Function, Placement, PlacementConfig, Sublayers
from normtrial.placements.residual import Post, Pre


@dataclass(kw_only=True, slots=True)
class MixConfig(PlacementConfig):
    """Options of `mix`."""

    share: float  # of the blocks, from the first on, that are Post; in (0, 1)

    def check(self) -> None:
        """Some blocks are Post, and some Pre."""
        require(
            0 < self.share < 1,
            f"placement.share={self.share} must lie strictly between 0 and 1; 0 would be placement=pre, "
            "1 placement=post.",
        )


class Mix(Placement):
    """The first blocks are Post, the rest Pre.

        early:  x ──┬── attention ──(+)── norm1 ──┬── mlp ──(+)── norm2 ── x'
                    └────────────────┘            └──────────┘
        later:  x ──┬── norm1 ── attention ──(+)──┬── norm2 ── mlp ──(+)── x'    then final_norm before the head
                    └─────────────────────────┘   └──────────────────┘

    x ← Post block in block ℓ = 1 … ⌊share · N⌋, at least one;  x ← Pre block in the others

    Source: Li et al. 2024 (Mix-LN), arXiv 2412.13795. Of few blocks ⌊share · N⌋ can be none, and then
    it would be Pre under another name: at least one is Post here.
    """

    final_norm: ClassVar[bool] = True
    Config: ClassVar[type[PlacementConfig]] = MixConfig

    def __init__(self, config: MixConfig, layer: int, num_layers: int):
        super().__init__(config, layer, num_layers)
        num_post = max(1, math.floor(config.share * num_layers + 1e-9))  # 0.29 · 100 is 28.999… in binary
        self.kind = (Post if layer < num_post else Pre)(config, layer, num_layers)
        self.order = self.kind.order

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        return self.kind(x_BLD, f)


class Hybrid(Placement):
    """Norms on queries, keys and values instead of one before attention; Post in the MLP.

        x ──┬── attention ──(+)── norm1 ──┬── mlp ──(+)── x'                 then final_norm before the head
            └────────────────┘            └──────────┘

        attention:  softmax(q_norm(q) k_norm(k)ᵀ / sqrt(K)) v_norm(v)

    x ← norm1(x + attention(x));  x ← x + mlp(x)

    Source: Zhuo et al. 2025 (HybridNorm), arXiv 2503.04598, figure 1d: y = x + A(x), then norm(y) + FFN(norm(y)).
    Queries, keys and values are normed over all D features before they are split into heads. Not HybridNorm*,
    whose first block differs.
    """

    order = ("attention.q_norm", "attention.k_norm", "attention.v_norm", "attention", "norm1", "mlp")
    final_norm: ClassVar[bool] = True

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = f.norm["norm1"](x_BLD + f.attention(x_BLD))
        return x_BLD + f.mlp(x_BLD)


class ResiDual(Placement):
    """Post, while a second stream sums up the same branches without any norm; the head sees both.

        x ──┬── attention ─┬─(+)── norm1 ──┬── mlp ─┬─(+)── norm2 ── x'        x' ──────────────(+)── head
            └──────────────│──┘            └────────│──┘                      d' ── final_norm ──┘
        d ────────────────(+)──────────────────────(+)────────────── d'

    x ← norm1(x + attention(x)), d ← d + attention(x);  x ← norm2(x + mlp(x)), d ← d + mlp(x);
    before the first block d = x, before the head x + final_norm(d)

    Source: Xie et al. 2023 (ResiDual), arXiv 2304.14802. Without their scale on d against
    overflow in float16, which the final norm cancels.
    """

    order = ("attention", "norm1", "mlp", "norm2")
    final_norm: ClassVar[bool] = True

    @staticmethod
    def enter(x_BLD: Tensor) -> tuple[Tensor, Tensor]:
        """Both streams begin as the embedding."""
        return x_BLD, x_BLD

    @staticmethod
    def leave(stream: tuple[Tensor, Tensor], final_norm: Function) -> Tensor:
        """x + final_norm(d)."""
        x_BLD, d_BLD = stream
        return x_BLD + final_norm(d_BLD)

    def forward(self, stream: tuple[Tensor, Tensor], f: Sublayers) -> tuple[Tensor, Tensor]:
        """See the class."""
        x_BLD, d_BLD = stream
        branch_BLD = f.attention(x_BLD)
        x_BLD, d_BLD = f.norm["norm1"](x_BLD + branch_BLD), d_BLD + branch_BLD
        branch_BLD = f.mlp(x_BLD)
        return f.norm["norm2"](x_BLD + branch_BLD), d_BLD + branch_BLD
