"""RMSNorm: each token divided by the root of its mean square, without centring; and its relatives.

Shapes: B examples, L positions, D model width.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normtrial.errors import require
from normtrial.norms.base import AffineConfig, EpsConfig, GainConfig, NormConfig, check_eps
from normtrial.norms.kernels import rms_norm
from normtrial.norms.moments import affine, arithmetic_dtype, statistics_dtype
from normtrial.norms.token import TokenNorm


class RMSNorm(TokenNorm):
    """Per token over its features: y = γ x / sqrt(mean(x²) + eps) (+ β, off in `rms`, on in `rms_bias`).

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    By a fused kernel; statistics in float32 or better unless `stats_dtype=input`.

    Source: Zhang and Sennrich 2019, arXiv 1910.07467, equation 4. Differs from the authors' code in that eps
    stands inside the root, as in LLaMA; differs from `nn.RMSNorm` in that eps is never left to the dtype.

    >>> config = AffineConfig(name="rms", eps=1e-6, stats_dtype="fp32", affine=False, bias=False, gamma_init=1.0)
    >>> y = RMSNorm(2, config)(torch.tensor([[[3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['0.849', '1.131']
    """

    shift_invariant: ClassVar[bool] = False

    def computed(self, x_BLD: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        """See the class."""
        if x_BLD.dtype == statistics_dtype(x_BLD):
            return affine(rms_norm(x_BLD, weight, self.eps), None, bias)
        return affine(divided_by_rms(x_BLD, self.eps), weight, bias)


class RMSNormEpsOutside(TokenNorm):
    """RMSNorm with eps outside the root: y = γ x / (‖x‖₂ / sqrt(D) + eps) (+ β, off by default).

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    The gradient at a zero token is 1 / eps, 1e8 as shipped: more than float16 can hold, where it is inf. With
    `stats_dtype=input` eps = 1e-8 rounds to 0 in float16, and a zero token gives 0 / 0 = NaN.

    Source: Zhang and Sennrich 2019, arXiv 1910.07467, as in the authors' code.

    >>> config = AffineConfig(name="rms_eps_out", eps=1e-8, stats_dtype="fp32", affine=False, bias=False,
    ...                       gamma_init=1.0)
    >>> x = torch.tensor([[[3.0, 4.0]], [[0.0, 0.0]]], requires_grad=True)
    >>> y = RMSNormEpsOutside(2, config)(x)
    >>> y.sum().backward()
    >>> [f"{value:.3f}" for value in y.flatten().tolist()], x.grad[1].tolist()
    (['0.849', '1.131', '0.000', '0.000'], [[100000000.0, 100000000.0]])
    """

    shift_invariant: ClassVar[bool] = False
    eps_outside: ClassVar[bool] = True

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        length = torch.linalg.vector_norm(x_BLD, dim=-1, keepdim=True)  # its subgradient at 0 is 0
        return x_BLD / (length / math.sqrt(self.d_model) + self.eps)


@dataclass(kw_only=True, slots=True)
class PartialRMSConfig(AffineConfig):
    """Options of `prms`."""

    share: float  # of the features, the first ones, from which the mean square is taken; in (0, 1]

    def check(self) -> None:
        """0 < share <= 1."""
        AffineConfig.check(self)
        require(0 < self.share <= 1, f"norm.share={self.share} must lie in (0, 1].")


class PartialRMSNorm(TokenNorm):
    """pRMSNorm, a mean square from the first k features: y = γ x / sqrt(mean(x²₁…ₖ) + eps), k = ⌈share · D⌉.

    Reduces D (the first k of it); statistics have shape (B, L). The same in training and evaluation; blind to
    padding. With k = 1 a token whose first feature is near 0 comes out as large as |x| / sqrt(eps).

    Source: Zhang and Sennrich 2019, arXiv 1910.07467, section 4 (pRMSNorm). Differs from the authors' code in
    that eps stands inside the root, as in `rms`, and k is rounded up, as in the paper.

    >>> config = PartialRMSConfig(name="prms", eps=1e-6, stats_dtype="fp32", affine=False, bias=False,
    ...                           gamma_init=1.0, share=0.5)
    >>> y = PartialRMSNorm(2, config)(torch.tensor([[[3.0, 4.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['1.000', '1.333']
    """

    Config: ClassVar[type[NormConfig]] = PartialRMSConfig
    shift_invariant: ClassVar[bool] = False

    def __init__(self, d_model: int, config: PartialRMSConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.num_counted = math.ceil(config.share * d_model)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        mean_square = x_BLD[..., : self.num_counted].square().mean(-1, keepdim=True)
        return x_BLD * torch.rsqrt(mean_square + self.eps)


@dataclass(kw_only=True, slots=True)
class ScaleConfig(EpsConfig):
    """Options of `scale`."""

    affine: bool  # g is learned; false leaves it at sqrt(D)


class ScaleNorm(TokenNorm):
    """Each token on a sphere of one learned radius: y = g x / sqrt(‖x‖² + eps), g = sqrt(D) at first.

    Reduces D; statistics have shape (B, L). The same in training and evaluation; blind to padding.
    g is one number for all features, so at the start it is RMSNorm without a gain.

    Source: Nguyen and Salazar 2019, arXiv 1910.05895, equation 5. The paper has no eps and the authors' code
    does not let ‖x‖ fall below 1e-5; here eps is its square inside the root, which is smooth.

    >>> config = ScaleConfig(name="scale", eps=1e-10, stats_dtype="fp32", affine=True)
    >>> norm = ScaleNorm(4, config)
    >>> norm.weight.item(), norm(torch.tensor([[[3.0, 0.0, 4.0, 0.0]]])).norm().item()
    (2.0, 2.0)
    """

    Config: ClassVar[type[NormConfig]] = ScaleConfig
    shift_invariant: ClassVar[bool] = False

    def add_affine(self, config: ScaleConfig, *shape: int) -> None:
        """One gain for all features."""
        self.radius = math.sqrt(self.d_model)
        self.weight = nn.Parameter(torch.tensor(self.radius)) if config.affine else None
        self.bias = None

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class; where g is not learned it is here."""
        unit = x_BLD * torch.rsqrt(x_BLD.square().sum(-1, keepdim=True) + self.eps)
        return unit if self.weight is not None else unit * self.radius


@dataclass(kw_only=True, slots=True)
class HalfRMSConfig(GainConfig):
    """Options of `rms_half`; its precision is no option."""

    eps: float  # added to the mean square inside the root

    def check(self) -> None:
        """0 < eps < 1, although half precision may round it to 0."""
        GainConfig.check(self)
        check_eps(self.eps)


class HalfRMSNorm(TokenNorm):
    """RMSNorm with every step in half precision; only for studies of precision.

    y = γ x / sqrt(mean(x²) + eps) in the precision of the input, or in autocast's where that is on; in a float32
    run it is `rms`. Reduces D; statistics have shape (B, L). The same in training and evaluation.
    In float16 squares overflow from 256 on, so that a token of root mean square 256 or more comes out as 0, its
    gradient as NaN; an eps below 3e-8 rounds to 0, and a zero token gives NaN.

    Source: the control of the documents' RMSNorm, without its `.float()`.

    >>> config = HalfRMSConfig(name="rms_half", eps=1e-6, affine=False, bias=False, gamma_init=1.0)
    >>> HalfRMSNorm(2, config)(torch.tensor([[[300.0, 400.0]]], dtype=torch.float16)).tolist()
    [[[0.0, 0.0]]]
    """

    Config: ClassVar[type[NormConfig]] = HalfRMSConfig
    shift_invariant: ClassVar[bool] = False
    half_arithmetic: ClassVar[bool] = True

    def arithmetic(self, x_BLD: Tensor) -> torch.dtype:
        """See the class."""
        return arithmetic_dtype(x_BLD, in_input_dtype=True)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        return divided_by_rms(x_BLD, self.eps)


def divided_by_rms(x_BLD: Tensor, eps: float) -> Tensor:
    """x / sqrt(mean(x²) + eps), in the input's precision."""
    if x_BLD.dtype == statistics_dtype(x_BLD):
        return rms_norm(x_BLD, None, eps)
    return x_BLD * torch.rsqrt(x_BLD.square().mean(-1, keepdim=True) + eps)  # the kernel would compute in float32
