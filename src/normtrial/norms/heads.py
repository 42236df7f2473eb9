"""Norms of queries and keys, each head by itself: what `model.qk_norm` chooses.

Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.layer import LayerNorm
from normtrial.norms.moments import statistics_dtype
from normtrial.norms.rms import RMSNorm

EPS = 1e-6  # inside the root, for a query or key that is zero


class L2Norm(Norm):
    """Per token over its features: y = g x / sqrt(Σ x² + eps), eps = 1e-6, g one learned scalar or 1.

    Reduces D. The same in training and evaluation; blind to padding. In float32 or better, output in the
    input's dtype.

    Source: Henry et al. 2020, arXiv 2010.04245. They have no eps.

    >>> y = L2Norm(2)(torch.tensor([[[3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['0.600', '0.800']
    """

    reduces = "D"

    def __init__(self, d_model: int, gain: float | None = None):
        super().__init__(d_model, NormConfig(name="l2"))
        self.weight = None if gain is None else nn.Parameter(torch.tensor(gain))

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token; mask and condition are ignored."""
        with torch.autocast(x_BLD.device.type, enabled=False):
            x = x_BLD.to(statistics_dtype(x_BLD))
            y = x * torch.rsqrt(x.square().sum(-1, keepdim=True) + EPS)
            return (y if self.weight is None else y * self.weight.to(y.dtype)).to(x_BLD.dtype)


class PerHead(nn.Module):
    """A norm over D = K, applied to each of the H heads; all heads share its parameters."""

    def __init__(self, norm: Norm, num_heads: int):
        super().__init__()
        self.norm, self.num_heads = norm, num_heads

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token's heads; mask and condition are ignored."""
        B, L, D = x_BLD.shape
        heads = x_BLD.reshape(B, L * self.num_heads, D // self.num_heads)
        return self.norm(heads).view(B, L, D)


class QkNorm(NamedTuple):
    """Norms of queries and keys, and the factor on q·k; None keeps 1/sqrt(K)."""

    q: Norm
    k: Norm
    scale: float | None


def _l2(width: int, max_len: int) -> QkNorm:
    """softmax(g q̂·k̂), g = log2(L² − L) at the start; L the longest input, in the paper the 97.5th percentile."""
    length = max(max_len, 2)
    return QkNorm(L2Norm(width, math.log2(length**2 - length)), L2Norm(width), 1.0)


def _ln(width: int, max_len: int) -> QkNorm:
    """LayerNorm with gain, without shift, as in Dehghani et al. 2023 (ViT-22B), arXiv 2302.05442."""
    config = AffineConfig(name="ln", eps=EPS, stats_dtype="fp32", affine=True, bias=False, gamma_init=1.0)
    return QkNorm(LayerNorm(width, config), LayerNorm(width, config), None)


def _rms(width: int, max_len: int) -> QkNorm:
    """RMSNorm with gain, as in many models of today (OLMo 2 norms all heads together instead)."""
    config = AffineConfig(name="rms", eps=EPS, stats_dtype="fp32", affine=True, bias=False, gamma_init=1.0)
    return QkNorm(RMSNorm(width, config), RMSNorm(width, config), None)


QK_NORMS: dict[str, Callable[[int, int], QkNorm] | None] = {"none": None, "l2": _l2, "ln": _ln, "rms": _rms}
