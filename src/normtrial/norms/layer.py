"""LayerNorm: each token over its own features; and the forms of it that are written by hand.

Shapes: B examples, L positions, D model width.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.norms.base import AffineConfig, Norm, NormConfig
from normtrial.norms.moments import affine, arithmetic_dtype, masked_moments, standardize, statistics_dtype
from normtrial.norms.token import TokenNorm, refuse_a_single_feature, std_mean


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


class LayerNormStd(TokenNorm):
    """LayerNorm as often typed from memory: y = γ (x − μ) / (s + eps) + β, s the unbiased standard deviation.

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    Differs from `ln` in two things: s² divides by D − 1 (the output is smaller by sqrt((D − 1) / D)), and eps
    stands outside the root, so that the gradient at a constant token is 1 / eps and not 1 / sqrt(eps): with
    1e-5 more than float16 can hold, where it is inf. Refuses D = 1. At a constant token torch's subgradient of
    s is 0.

    Source: the documents' `gamma * (x - x.mean(-1)) / (x.std(-1) + eps) + beta`.

    >>> config = AffineConfig(name="ln_std_eps", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                       gamma_init=1.0)
    >>> y = LayerNormStd(4, config)(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]  # 0.866 times LayerNorm's
    ['-1.162', '-0.387', '0.387', '1.162']
    """

    eps_outside: ClassVar[bool] = True
    correction: ClassVar[int] = 1

    def __init__(self, d_model: int, config: AffineConfig, max_len: int = 0):
        super().__init__(d_model, config)
        if self.correction:
            refuse_a_single_feature(config.name, d_model)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        std, mean = std_mean(x_BLD, self.correction)
        return (x_BLD - mean) / (std + self.eps)


class LayerNormStdBiased(LayerNormStd):
    """The control of `ln_std_eps`: eps outside the root, but the biased standard deviation.

    y = γ (x − μ) / (σ + eps) + β. Reduces D; statistics have shape (B, L). Training and evaluation are the same.
    It differs from `ln` by the place of eps alone, and from `ln_std_eps` by the factor sqrt((D − 1) / D) alone.

    Source: none; made to tell the two differences apart.

    >>> config = AffineConfig(name="ln_std_eps_biased", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                       gamma_init=1.0)
    >>> y = LayerNormStdBiased(4, config)(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['-1.342', '-0.447', '0.447', '1.342']
    """

    correction: ClassVar[int] = 0


class LayerNormAlpha(TokenNorm):
    """A document's "AdaptiveLayerNorm": y = γ α (x − μ) / sqrt(s² + eps) + β, α one learned scalar, 1 at first.

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    Nothing adapts: α scales γ (the gain is γ α, whose two factors no loss can tell apart) and does not see the
    input. s² is unbiased, so D = 1 is refused. Not the adaptive LayerNorm of the literature, which is `ada`.

    Source: the document's `(x - mean) / sqrt(x.var(-1) + 1e-5) * weight * alpha + bias`.

    >>> config = AffineConfig(name="ln_alpha", eps=1e-5, stats_dtype="fp32", affine=True, bias=True,
    ...                       gamma_init=1.0)
    >>> norm = LayerNormAlpha(4, config)
    >>> y = norm(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()], norm.alpha.shape
    (['-1.162', '-0.387', '0.387', '1.162'], torch.Size([]))
    """

    alpha: nn.Parameter | None

    def __init__(self, d_model: int, config: AffineConfig, max_len: int = 0):
        super().__init__(d_model, config)
        refuse_a_single_feature(config.name, d_model)
        self.alpha = nn.Parameter(torch.ones(())) if config.affine else None

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        std, mean = std_mean(x_BLD, correction=1)
        y_BLD = standardize(x_BLD, mean, std.square(), self.eps)
        return y_BLD if self.alpha is None else y_BLD * self.alpha.to(y_BLD.dtype)


class DetachedLayerNorm(TokenNorm):
    """DetachNorm: LayerNorm whose μ and σ are constants in the backward pass.

    y = γ (x − sg(μ)) / sqrt(sg(σ²) + eps) + β, sg stopping the gradient, σ² biased. Reduces D; statistics have
    shape (B, L). The same in training and evaluation; blind to padding. Forward equals `ln`; backward it is a
    multiplication by γ / sqrt(σ² + eps), without the two projections.

    Source: Xu et al. 2019, arXiv 1911.07013, section 3: DetachNorm. There without γ and β
    (`norm.affine=false`); here with them, so that it differs from `ln` in its backward pass only.

    >>> config = AffineConfig(name="ln_detach", eps=1e-5, stats_dtype="fp32", affine=False, bias=False,
    ...                       gamma_init=1.0)
    >>> x = torch.tensor([[[1.0, 3.0]]], requires_grad=True)
    >>> DetachedLayerNorm(2, config)(x).sum().backward()
    >>> [f"{value:.2f}" for value in x.grad.flatten().tolist()]  # LayerNorm's would be 0
    ['1.00', '1.00']
    """

    exact_backward: ClassVar[bool] = False

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        moments = masked_moments(x_BLD.detach(), None, "D")
        return standardize(x_BLD, moments.mean, moments.variance, self.eps)


def affine_layer_norm(
    x_BLD: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, in_input_dtype: bool = False
) -> Tensor:
    """LayerNorm over the last axis, output in the input's dtype whatever autocast prefers."""
    dtype = arithmetic_dtype(x_BLD, in_input_dtype)
    with torch.autocast(x_BLD.device.type, enabled=False):
        x = x_BLD.to(dtype)
        weight, bias = (None if p is None else p.to(dtype) for p in (weight, bias))
        if dtype == statistics_dtype(x):
            return F.layer_norm(x, x.shape[-1:], weight, bias, eps).to(x_BLD.dtype)
        moments = masked_moments(x, None, "D")  # torch's kernel would sum in float32
        return affine(standardize(x, moments.mean, moments.variance, eps), weight, bias).to(x_BLD.dtype)
