"""LayerNorm: each token over its own features.

Shapes: B examples, L positions, D model width.
"""

from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.moments import affine, masked_moments, standardize, statistics_dtype


class LayerNorm(Norm):
    """Per token over its features: y = γ (x − μ) / sqrt(σ² + eps) + β, σ² biased.

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    torch's fused kernel, which accumulates in float32; `stats_dtype=input` takes every step in the input's
    precision instead.

    Source: Ba, Kiros and Hinton 2016, arXiv 1607.06450, equation 4; eps inside the root as in every
    implementation in use (the paper has none).

    >>> config = AffineConfig(name="ln", eps=1e-5, stats_dtype="fp32", affine=False, bias=False, gamma_init=1.0)
    >>> y = LayerNorm(4, config)(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['-1.342', '-0.447', '0.447', '1.342']
    """

    reduces: ClassVar[str] = "D"
    Config: ClassVar[type[NormConfig]] = AffineConfig

    def __init__(self, d_model: int, config: AffineConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps = config.eps
        self.in_input_dtype = config.stats_dtype == "input"
        self.add_affine(config, d_model)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token; mask and condition are ignored."""
        return affine_layer_norm(x_BLD, self.weight, self.bias, self.eps, self.in_input_dtype)


def affine_layer_norm(
    x_BLD: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, in_input_dtype: bool = False
) -> Tensor:
    """LayerNorm over the last axis, output in the input's dtype whatever autocast prefers."""
    if in_input_dtype and x_BLD.dtype != statistics_dtype(x_BLD):
        moments = masked_moments(x_BLD, None, "D")
        y = standardize(x_BLD, moments.mean, moments.variance, eps)
        return affine(y, *(None if p is None else p.to(y.dtype) for p in (weight, bias)))
    with torch.autocast(x_BLD.device.type, enabled=False):
        x = x_BLD.to(statistics_dtype(x_BLD))
        weight, bias = (None if p is None else p.to(x.dtype) for p in (weight, bias))
        return F.layer_norm(x, x.shape[-1:], weight, bias, eps).to(x_BLD.dtype)
