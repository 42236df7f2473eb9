"""How much of a token the subtraction of its mean takes away.

Shapes: N valid tokens, D features.
"""

from typing import Any

from torch import nn

from normtrial.norms.base import Norm
from normtrial.probes.activations.tokens import mask_of, valid_tokens
from normtrial.probes.base import OutputProbe, Values


class Centring(OutputProbe):
    """cos(x, 1) of the tokens in front of each norm: mean(x) / sqrt(mean(x²)), 1 the all-ones direction.

    `centring/<site>/cos_ones` is the mean over valid tokens; `cos_ones_rms` = sqrt(mean cos²), whose square is the
    share of a token's squared length that LayerNorm's centring removes. Both are near 0 where RMSNorm would do as
    well. A zero token counts as 0.

    Source: Gupta et al. 2024, arXiv 2409.12951.
    """

    section = "centring"

    def place(self, module: nn.Module) -> nn.Module | None:
        """Norms; not those of single heads, which are no choice of `norm`."""
        return module if isinstance(module, Norm) else None

    def read(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Values:
        """Both means."""
        x_ND = valid_tokens(inputs[0], mask_of(inputs))
        length = x_ND.norm(dim=-1).clamp(min=1e-30)
        cosine_N = x_ND.sum(-1) / (length * x_ND.shape[-1] ** 0.5)
        return {"cos_ones": cosine_N.mean(), "cos_ones_rms": cosine_N.square().mean().sqrt()}
