"""RMSNorm: each token divided by the root of its mean square.

Shapes: B examples, L positions, D model width.
"""

from typing import ClassVar

import torch
from torch import Tensor

from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.moments import affine, statistics_dtype


class RMSNorm(Norm):
    """Per token over its features: y = γ x / sqrt(mean(x²) + eps) (+ β, off by default).

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    Statistics in float32 or better unless `stats_dtype=input`.

    Source: Zhang and Sennrich 2019, arXiv 1910.07467, equation 4. Differs from the authors' code in that eps
    stands inside the root, as in LLaMA; differs from `nn.RMSNorm` in that eps is never left to the dtype.

    >>> config = AffineConfig(name="rms", eps=1e-6, stats_dtype="fp32", affine=False, bias=False, gamma_init=1.0)
    >>> y = RMSNorm(2, config)(torch.tensor([[[3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['0.849', '1.131']
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
        dtype = x_BLD.dtype if self.in_input_dtype else statistics_dtype(x_BLD)
        with torch.autocast(x_BLD.device.type, enabled=False):
            x = x_BLD.to(dtype)
            y = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
            weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
            return affine(y, weight, bias).to(x_BLD.dtype)
