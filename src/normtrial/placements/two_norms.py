"""Placements of two norms a sublayer: around it, or before it and inside it."""

import math
from typing import ClassVar

from torch import Tensor

from normtrial.placements.base import InitConfig, Placement, PlacementConfig, Sublayers
from normtrial.placements.residual import Pre


class Sandwich(Placement):
    """Norm before and after each sublayer, both on the branch; the identity path runs through untouched.

        x ──┬── norm1 ── attention ── norm2 ──(+)──┬── norm3 ── mlp ── norm4 ──(+)── x'
            └──────────────────────────────────┘   └───────────────────────────┘
                                                                     then final_norm before the head

    x ← x + norm2(attention(norm1(x)));  x ← x + norm4(mlp(norm3(x)))

    Source: Ding et al. 2021 (CogView), arXiv 2105.13290. Without their rescaled softmax against
    overflow (PB-relax): the kernel subtracts the maximum in float32.
    """

    order = ("norm1", "attention", "norm2", "norm3", "mlp", "norm4")
    final_norm: ClassVar[bool] = True

    def forward(self, x_BLD: Tensor, f: Sublayers) -> Tensor:
        """See the class."""
        x_BLD = x_BLD + f.norm["norm2"](f.attention(f.norm["norm1"](x_BLD)))
        return x_BLD + f.norm["norm4"](f.mlp(f.norm["norm3"](x_BLD)))


class Peri(Sandwich):
    """Sandwich whose stream also starts normalized: a norm after the embedding.

        tokens ── embedding ── embed_norm ── x

        x ──┬── norm1 ── attention ── norm2 ──(+)──┬── norm3 ── mlp ── norm4 ──(+)── x'
            └──────────────────────────────────┘   └───────────────────────────┘
                                                                     then final_norm before the head

    x ← embed_norm(embedding);  in each block  x ← x + norm2(attention(norm1(x)));  x ← x + norm4(mlp(norm3(x)))

    Source: Kim et al. 2025 (Peri-LN), arXiv 2502.02732.
    """

    embed_norm: ClassVar[bool] = True


class SubLN(Pre):
    """Norm in front of each sublayer and a second one inside it, before its output projection.

        x ──┬── norm1 ── attention ──(+)──┬── norm2 ── mlp ──(+)── x'        then final_norm before the head
            └─────────────────────────┘   └──────────────────┘

        attention:  heads ── inner_norm ── output projection
        mlp:        input projection ── activation ── inner_norm ── output projection

    x ← x + attention(norm1(x));  x ← x + mlp(norm2(x)), where attention(x) = Wₒ inner_norm(heads(x)) and
    mlp(x) = W₂ inner_norm(activation(W₁ x))

    Initial weights of the MLP, value and output projections × sqrt(log 2N), N blocks (`init=auto`).

    Source: Wang et al. 2022 (Magneto), arXiv 2210.06423, for an encoder or a decoder
    alone. The inner norm of the MLP has width F; a condition is repeated to that width.
    """

    order = ("norm1", "attention.inner_norm", "attention", "norm2", "mlp.inner_norm", "mlp")
    Config: ClassVar[type[PlacementConfig]] = InitConfig

    def __init__(self, config: InitConfig, layer: int, num_layers: int):
        super().__init__(config, layer, num_layers)
        self.init_scale = math.sqrt(math.log(2 * num_layers)) if config.init == "auto" else 1.0
