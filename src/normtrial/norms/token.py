"""What norms of a single token share: precision, gain and shift around a formula over the features.

Shapes: B examples, L positions, D model width.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor

from normtrial.errors import require
from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.moments import affine, arithmetic_dtype


class TokenNorm(Norm):
    """y = γ ⊙ `normalized(x)` + β, each token by itself; the same in training and evaluation, blind to padding.

    Computed in float32 or better, in the input's precision with `stats_dtype=input`; whatever autocast prefers,
    the output has the input's dtype. `add_affine` makes γ and β.
    """

    reduces: ClassVar[str] = "D"
    Config: ClassVar[type[NormConfig]] = AffineConfig

    def __init__(self, d_model: int, config: Any, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps: float = config.eps
        self.add_affine(config, d_model)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token; mask and condition are ignored."""
        dtype = self.arithmetic(x_BLD)
        with torch.autocast(x_BLD.device.type, enabled=False):
            weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
            return self.computed(x_BLD.to(dtype), weight, bias).to(x_BLD.dtype)

    def arithmetic(self, x_BLD: Tensor) -> torch.dtype:
        """The precision of every step."""
        return arithmetic_dtype(x_BLD, self.config.stats_dtype == "input")

    def computed(self, x_BLD: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """Formula, gain and shift, in the precision of x."""
        return affine(self.normalized(x_BLD), weight, bias)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """The formula, without gain and shift."""
        raise NotImplementedError


def std_mean(x_BLD: Tensor, correction: int) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean of each token, (…, 1); 1 is the unbiased one. The subgradient at 0 is 0."""
    if not x_BLD.numel():  # of which torch says that it has too few degrees of freedom
        empty = x_BLD.new_zeros((*x_BLD.shape[:-1], 1))
        return empty, empty
    std, mean = torch.std_mean(x_BLD, -1, correction=correction, keepdim=True)
    return std, mean


def refuse_a_single_feature(name: str, d_model: int) -> None:
    """An unbiased variance divides by D − 1."""
    require(
        d_model > 1,
        f"norm={name} divides by the unbiased variance of a token's features, which one feature (model.d_model=1) "
        "does not have: 0 / 0. Raise model.d_model, or choose norm=ln.",
    )
