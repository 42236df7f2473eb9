"""Norms whose gain depends on a condition, or on the token itself.

Shapes: B examples, L positions, D model width.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normtrial.errors import not_one_of, require
from normtrial.norms.base import EpsConfig, Norm, NormConfig
from normtrial.norms.layer import affine_layer_norm
from normtrial.norms.moments import arithmetic_dtype, masked_mean, masked_moments, standardize, statistics_dtype
from normtrial.norms.rms import divided_by_rms
from normtrial.norms.token import TokenNorm, refuse_a_single_feature, std_mean

CONDITIONS = ("token", "sequence")
UNUSED_EPS = 1e-5  # where a norm has no eps after all, it is left as shipped, as gamma_init is where there is no γ


@dataclass(kw_only=True, slots=True)
class AdaptiveConfig(EpsConfig):
    """Options of the adaptive norms."""

    affine: bool  # false drops the conditional gain and shift, and with them every parameter
    condition: str  # token: that position's input embedding; sequence: their mean over the valid tokens

    def check(self) -> None:
        """A known condition, and something that it conditions."""
        EpsConfig.check(self)
        if self.condition not in CONDITIONS:
            raise not_one_of("norm.condition", self.condition, CONDITIONS)
        require(
            self.affine or self.condition == "token",
            f"norm.condition={self.condition} has no effect: norm.affine=false leaves nothing that reads it. "
            "Leave norm.condition=token.",
        )


class AdaptiveLayerNorm(Norm):
    """LayerNorm whose gain and shift are read from a condition: y = (1 + Δγ(c)) ⊙ x̂ + β(c).

    x̂ = (x − μ) / sqrt(σ² + eps) per token; (Δγ, β) = W c + b with W (2D, D), zero-initialized, so that it
    starts as a plain LayerNorm. Reduces D for x̂; `condition=sequence` also averages c over L, and then a
    position's output depends on the others. The same in training and evaluation.

    Source: conditional LayerNorm as in Peebles and Xie 2023 (DiT), arXiv 2212.09748, section 3.2, after
    Perez et al. 2018 (FiLM), arXiv 1709.07871. There the condition is a class or time; here it is text.

    >>> config = AdaptiveConfig(name="ada", eps=1e-5, stats_dtype="fp32", affine=True, condition="token")
    >>> x = torch.tensor([[[1.0, 3.0]]])
    >>> [f"{value:.2f}" for value in AdaptiveLayerNorm(2, config)(x, cond_BLD=x).flatten().tolist()]
    ['-1.00', '1.00']
    """

    reduces: ClassVar[str] = "D"
    Config: ClassVar[type[NormConfig]] = AdaptiveConfig

    def __init__(self, d_model: int, config: AdaptiveConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps = config.eps
        self.in_input_dtype = config.stats_dtype == "input"
        self.over_sequence = config.condition == "sequence"
        self.modulation = nn.Linear(d_model, 2 * d_model) if config.affine else None
        if self.modulation is not None:
            nn.init.zeros_(self.modulation.weight)
            nn.init.zeros_(self.modulation.bias)

    @classmethod
    def reduced_axes(cls, config: NormConfig) -> str:
        """L joins where the condition is a mean over the sequence."""
        assert isinstance(config, AdaptiveConfig)
        return "LD" if config.condition == "sequence" and config.affine else cls.reduces

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token and modulate it by the condition.

        Raises:
            ValueError: no condition was given.
        """
        y_BLD = self.normalized(x_BLD)
        if self.modulation is None:
            return y_BLD
        cond_BLD = required(cond_BLD)
        if self.over_sequence:
            cond_BLD, _ = masked_mean(cond_BLD, mask_BL, "L")
        # autocast's half precision would round 1 + gain to steps of 1/128
        gain, shift = self.modulation(cond_BLD).to(statistics_dtype(y_BLD)).chunk(2, dim=-1)
        return (y_BLD * (1 + gain) + shift).to(x_BLD.dtype)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """x̂, in the input's dtype."""
        return affine_layer_norm(x_BLD, None, None, self.eps, self.in_input_dtype)


class AdaptiveRMSNorm(AdaptiveLayerNorm):
    """RMSNorm whose gain and shift are read from a condition: y = (1 + Δγ(c)) ⊙ x̂ + β(c).

    x̂ = x / sqrt(mean(x²) + eps) per token; (Δγ, β) = W c + b with W (2D, D), zero-initialized, so that it
    starts as an RMSNorm. Reduces D; `condition=sequence` also averages c over L. The same in training and
    evaluation.

    Source: `ada`, with RMSNorm (Zhang and Sennrich 2019, arXiv 1910.07467) in the place of LayerNorm.

    >>> config = AdaptiveConfig(name="ada_rms", eps=1e-6, stats_dtype="fp32", affine=True, condition="token")
    >>> x = torch.tensor([[[3.0, 4.0]]])
    >>> [f"{value:.3f}" for value in AdaptiveRMSNorm(2, config)(x, cond_BLD=x).flatten().tolist()]
    ['0.849', '1.131']
    """

    shift_invariant: ClassVar[bool] = False

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """x̂, in the input's dtype."""
        dtype = arithmetic_dtype(x_BLD, self.in_input_dtype)
        with torch.autocast(x_BLD.device.type, enabled=False):
            return divided_by_rms(x_BLD.to(dtype), self.eps).to(x_BLD.dtype)


@dataclass(kw_only=True, slots=True)
class ScalarAdaptiveConfig(EpsConfig):
    """Options of `ada_scalar`."""

    affine: bool  # false drops the conditional gain and shift, and with them every parameter
    faithful: bool  # true: as the document writes it, without eps, unbiased, started at random

    def check(self) -> None:
        """An eps that does not exist is not set."""
        EpsConfig.check(self)
        require(
            not self.faithful or self.eps == UNUSED_EPS,
            f"norm.eps={self.eps} has no place: with norm.faithful=true there is no eps. "
            f"Leave it at {UNUSED_EPS}.",
        )


class ScalarAdaptiveLayerNorm(Norm):
    """LayerNorm with one conditional gain and one shift a token: y = (1 + Δγ(c)) x̂ + β(c), Δγ and β scalars.

    x̂ = (x − μ) / sqrt(σ² + eps) per token; (Δγ, β) = W c + b with W (2, D), zero-initialized. Reduces D; the
    same in training and evaluation. c is the position's input embedding.
    `faithful=true` is the document's code: y = γ(c) (x − μ) / s + β(c), s unbiased and without eps, so that a
    constant token gives 0 / 0 = NaN, and D = 1 is refused; γ and β from an `nn.Linear` as torch starts it, so
    that γ is near 0 instead of 1.

    Source: a document's "AdaNorm" with `nn.Linear(d, 2)`; it is conditional LayerNorm (`ada`) with scalars, not
    the AdaNorm of the literature (`adanorm`).

    >>> config = ScalarAdaptiveConfig(name="ada_scalar", eps=1e-5, stats_dtype="fp32", affine=True, faithful=False)
    >>> x = torch.tensor([[[1.0, 3.0]]])
    >>> [f"{value:.2f}" for value in ScalarAdaptiveLayerNorm(2, config)(x, cond_BLD=x).flatten().tolist()]
    ['-1.00', '1.00']
    """

    reduces: ClassVar[str] = "D"
    Config: ClassVar[type[NormConfig]] = ScalarAdaptiveConfig

    def __init__(self, d_model: int, config: ScalarAdaptiveConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps, self.faithful = config.eps, config.faithful
        self.in_input_dtype = config.stats_dtype == "input"
        if self.faithful:
            refuse_a_single_feature(config.name, d_model)
        self.modulation = nn.Linear(d_model, 2) if config.affine else None
        self.draw(torch.Generator().manual_seed(0))

    def draw(self, generator: torch.Generator) -> None:
        """Zero; or, where faithful, uniform within ±1 / sqrt(D), which is what `nn.Linear` does."""
        if self.modulation is not None:
            bound = 1 / math.sqrt(self.d_model) if self.faithful else 0.0
            nn.init.uniform_(self.modulation.weight, -bound, bound, generator)
            nn.init.uniform_(self.modulation.bias, -bound, bound, generator)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize each token and modulate it by the condition; the mask is ignored.

        Raises:
            ValueError: no condition was given.
        """
        y_BLD = self.normalized(x_BLD)
        if self.modulation is None:
            return y_BLD
        learned = self.modulation(required(cond_BLD)).to(statistics_dtype(y_BLD))
        gain_BL1, shift_BL1 = learned.chunk(2, dim=-1)
        return (y_BLD * (gain_BL1 if self.faithful else 1 + gain_BL1) + shift_BL1).to(x_BLD.dtype)

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """x̂, in the input's dtype."""
        if not self.faithful:
            return affine_layer_norm(x_BLD, None, None, self.eps, self.in_input_dtype)
        x = x_BLD.to(arithmetic_dtype(x_BLD, self.in_input_dtype))
        std, mean = std_mean(x, correction=1)
        return ((x - mean) / std).to(x_BLD.dtype)


@dataclass(kw_only=True, slots=True)
class AdaNormConfig(EpsConfig):
    """Options of `adanorm`."""

    scale: float  # C, a constant in front of the output
    k: float  # how much a large x̂ is pulled back; 0 leaves LayerNorm without gain and shift

    def check(self) -> None:
        """C not 0, k from 0 to 1."""
        EpsConfig.check(self)
        require(0 < abs(self.scale) < 1e4, f"norm.scale={self.scale} must be finite and not 0.")
        require(0 <= self.k <= 1, f"norm.k={self.k} must lie in [0, 1].")


class AdaNorm(TokenNorm):
    """A gain that falls with the value itself: y = C sg(1 − k x̂) ⊙ x̂, sg stopping the gradient.

    x̂ = (x − μ) / sqrt(σ² + eps) per token, σ² biased. Reduces D; statistics have shape (B, L). The same in
    training and evaluation; blind to padding; no parameters. The mean of an output is −C k and not 0.

    Source: Xu et al. 2019, arXiv 1911.07013, section 4 (AdaNorm), k = 1/10. Differs from the authors' code, which
    divides by the unbiased standard deviation plus 1e-5; here as in `ln`, so that it differs by its gain only.

    >>> config = AdaNormConfig(name="adanorm", eps=1e-5, stats_dtype="fp32", scale=1.0, k=0.1)
    >>> y = AdaNorm(2, config)(torch.tensor([[[1.0, 3.0]]]))
    >>> [f"{value:.2f}" for value in y.flatten().tolist()]
    ['-1.10', '0.90']
    """

    exact_backward: ClassVar[bool] = False
    Config: ClassVar[type[NormConfig]] = AdaNormConfig

    def add_affine(self, config: AdaNormConfig, *shape: int) -> None:
        """It has none."""
        self.weight = self.bias = None

    def normalized(self, x_BLD: Tensor) -> Tensor:
        """See the class."""
        moments = masked_moments(x_BLD, None, "D")
        y_BLD = standardize(x_BLD, moments.mean, moments.variance, self.eps)
        return self.config.scale * (1 - self.config.k * y_BLD).detach() * y_BLD


def required(cond_BLD: Tensor | None) -> Tensor:
    """The condition, which these norms cannot do without."""
    if cond_BLD is None:
        raise ValueError("an adaptive norm needs its condition: the input embeddings, as `cond_BLD`.")
    return cond_BLD
