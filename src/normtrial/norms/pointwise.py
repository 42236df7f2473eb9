"""In the place of a norm, without any statistics: a squashing function of each value, or nothing.

Shapes: B examples, L positions, D model width.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from normtrial.errors import require
from normtrial.norms.base import GainConfig, Norm, NormConfig
from normtrial.norms.moments import affine, statistics_dtype


@dataclass(kw_only=True, slots=True)
class PointwiseConfig(GainConfig):
    """Options of `dyt` and `derf`; with affine=false nothing is learned, α stays where it starts."""

    alpha_init: float  # α at the start: how much is squashed

    def check(self) -> None:
        """α finite and not 0."""
        GainConfig.check(self)
        require(
            self.alpha_init != 0 and abs(self.alpha_init) < 1e4,
            f"norm.alpha_init={self.alpha_init} must be finite and not 0 (tanh(0 x) is 0 for every token).",
        )


class DynamicTanh(Norm):
    """DyT, a squashing of each value: y = γ tanh(α x) + β, α one learned scalar.

    Reduces nothing; no state. The same in training and evaluation; blind to padding. In float32 or better.
    Neither scale nor shift of a token is removed.

    Source: Zhu et al. 2025, arXiv 2503.10622, equation 2. The larger α of attention's norms and the scalar after
    the embedding that the authors use in LLaMA are not part of it.

    >>> config = PointwiseConfig(name="dyt", affine=True, bias=True, gamma_init=1.0, alpha_init=0.5)
    >>> y = DynamicTanh(2, config)(torch.tensor([[[1.0, -2.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['0.462', '-0.762']
    """

    reduces: ClassVar[str] = ""
    scale_invariant: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    Config: ClassVar[type[NormConfig]] = PointwiseConfig

    def __init__(self, d_model: int, config: PointwiseConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.add_affine(config, d_model)
        self.alpha_init = config.alpha_init
        self.alpha = nn.Parameter(torch.tensor(config.alpha_init)) if config.affine else None

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Squash each value; mask and condition are ignored."""
        dtype = statistics_dtype(x_BLD)
        alpha = self.alpha_init if self.alpha is None else self.alpha.to(dtype)
        weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
        with torch.autocast(x_BLD.device.type, enabled=False):
            return affine(self.squashed(x_BLD.to(dtype) * alpha), weight, bias).to(x_BLD.dtype)

    def squashed(self, z_BLD: Tensor) -> Tensor:
        """The function of α x."""
        return z_BLD.tanh()


class DynamicErf(DynamicTanh):
    """Derf, a squashing of each value: y = γ erf(α x + s) + β, α and s learned scalars, s = 0 at first.

    Reduces nothing; no state. The same in training and evaluation; blind to padding. In float32 or better.

    Source: Chen et al. 2025, arXiv 2512.10938, equation 10.

    >>> config = PointwiseConfig(name="derf", affine=True, bias=True, gamma_init=1.0, alpha_init=0.5)
    >>> y = DynamicErf(2, config)(torch.tensor([[[1.0, -2.0]]]))
    >>> [f"{value:.3f}" for value in y.flatten().tolist()]
    ['0.520', '-0.843']
    """

    def __init__(self, d_model: int, config: PointwiseConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.shift = nn.Parameter(torch.zeros(())) if config.affine else None

    def squashed(self, z_BLD: Tensor) -> Tensor:
        """The function of α x."""
        return torch.erf(z_BLD if self.shift is None else z_BLD + self.shift.to(z_BLD.dtype))


class NoNorm(Norm):
    """The identity, y = x: what a network is without a norm. No options, no parameters, no state.

    Reduces nothing. The same in training and evaluation.

    Source: none; the control of every other.

    >>> NoNorm(2, NormConfig(name="none"))(torch.tensor([[[1.0, -2.0]]])).tolist()
    [[[1.0, -2.0]]]
    """

    reduces: ClassVar[str] = ""
    scale_invariant: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    Config: ClassVar[type[NormConfig]] = NormConfig

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Nothing is done."""
        return x_BLD
