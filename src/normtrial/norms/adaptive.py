"""Norms whose gain and shift depend on a condition.

Shapes: B examples, L positions, D model width.
"""

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from normtrial.errors import not_one_of
from normtrial.norms.base import EpsConfig, Norm, NormConfig
from normtrial.norms.layer import affine_layer_norm
from normtrial.norms.moments import masked_mean

CONDITIONS = ("token", "sequence")


@dataclass(kw_only=True, slots=True)
class AdaptiveConfig(EpsConfig):
    """Options of the adaptive norms."""

    affine: bool  # false drops the conditional gain and shift, and with them every parameter
    condition: str  # token: that position's input embedding; sequence: their mean over the valid tokens

    def check(self) -> None:
        """A known condition."""
        EpsConfig.check(self)
        if self.condition not in CONDITIONS:
            raise not_one_of("norm.condition", self.condition, CONDITIONS)


class AdaptiveLayerNorm(Norm):
    """LayerNorm whose gain and shift are read from a condition: y = (1 + Δγ(c)) ⊙ x̂ + β(c).

    x̂ = (x − μ) / sqrt(σ² + eps) per token; (Δγ, β) = W c + b with W (2D, D), zero-initialized, so that it
    starts as a plain LayerNorm. Reduces D for x̂; `condition=sequence` also averages c over L, and then a
    position's output depends on the others. The same in training and evaluation.

    Source: conditional LayerNorm as in Peebles and Xie 2023 (DiT), arXiv 2212.09748, section 3.2, after
    Perez et al. 2018 (FiLM), arXiv 1709.07871. There the condition is a class or time; here it is text.
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
        y_BLD = affine_layer_norm(x_BLD, None, None, self.eps, self.in_input_dtype)
        if self.modulation is None:
            return y_BLD
        if cond_BLD is None:
            raise ValueError("an adaptive norm needs its condition: the input embeddings, as `cond_BLD`.")
        if self.over_sequence:
            cond_BLD, _ = masked_mean(cond_BLD, mask_BL, "L")
        gain, shift = self.modulation(cond_BLD).chunk(2, dim=-1)
        return (y_BLD * (1 + gain) + shift).to(x_BLD.dtype)
