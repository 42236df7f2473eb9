"""The seam of every norm: `forward(x_BLD, mask_BL=None, cond_BLD=None) -> x_BLD`, and what `reduces` implies.

Shapes: B examples, L positions, D model width.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from normtrial.errors import not_one_of, require

STATS_DTYPES = ("fp32", "input")


@dataclass(kw_only=True, slots=True)
class NormConfig:
    """What every norm has."""

    name: str  # the catalogue's name; comes from the chosen option

    def check(self) -> None:
        """Raise `ConfigError` where a value is out of range."""


@dataclass(kw_only=True, slots=True)
class EpsConfig(NormConfig):
    """A norm that divides by a statistic: eps keeps the divisor from zero."""

    eps: float  # added to the variance (or second moment) inside the root, in units of the input squared
    stats_dtype: str  # fp32: statistics in float32 or better; input: in the input's precision, or autocast's

    def check(self) -> None:
        """0 < eps < 1, and a known precision."""
        check_eps(self.eps)
        if self.stats_dtype not in STATS_DTYPES:
            raise not_one_of("norm.stats_dtype", self.stats_dtype, STATS_DTYPES)


@dataclass(kw_only=True, slots=True)
class AffineConfig(EpsConfig):
    """A norm with a learned gain γ and, where wanted, a learned shift β, one a feature."""

    affine: bool  # false leaves no parameters at all
    bias: bool  # β beside γ; without affine there is none
    gamma_init: float  # γ at the start; 1 keeps the normalized scale

    def check(self) -> None:
        """γ starts at something finite and not zero; what does not exist is not set."""
        EpsConfig.check(self)
        check_gain(self.affine, self.bias, self.gamma_init)


@dataclass(kw_only=True, slots=True)
class GainConfig(NormConfig):
    """A norm with γ and β but without a statistic that it divides by in a chosen precision."""

    affine: bool  # false leaves no parameters at all
    bias: bool  # β beside γ; without affine there is none
    gamma_init: float  # γ at the start

    def check(self) -> None:
        """As for every gain."""
        check_gain(self.affine, self.bias, self.gamma_init)


def check_eps(eps: float) -> None:
    """0 < eps < 1."""
    require(
        0 < eps < 1,
        f"norm.eps={eps} must lie strictly between 0 and 1 (1e-5 is usual); "
        "with 0 a constant token divides 0 by 0.",
    )


def check_gain(affine: bool, bias: bool, gamma_init: float) -> None:
    """γ starts at something finite and not zero; what does not exist is not set."""
    require(
        affine or not bias,
        "norm.bias=true has no effect: norm.affine=false leaves no parameters. Leave norm.bias out.",
    )
    require(
        affine or gamma_init == 1,
        f"norm.gamma_init={gamma_init} has no gain to start: norm.affine=false. Leave it at 1.",
    )
    require(
        gamma_init != 0 and abs(gamma_init) < 1e4,
        f"norm.gamma_init={gamma_init} must be finite and not 0 (a zero gain passes no gradient back).",
    )


class Norm(nn.Module):
    """A normalization of x_BLD. Subclasses say what they reduce, and the rest follows from it.

    Each is a fact that `scripts/properties.py` and the tests measure, never a wish.

    Attributes:
        reduces: axes over which statistics are taken, a subset of "BLD"; "" where none are.
        scale_invariant: in training y(c x) = y(x) for c > 0, up to eps.
        shift_invariant: in training y(x + c) = y(x) for one number c.
        eps_outside: eps is added to the root, not under it: at a zero (constant) token the gradient is 1 / eps.
        half_arithmetic: computes in half precision where it is given some, and overflows as that does.
        exact_backward: False where the gradient is by definition not that of the forward formula.
        Config: the dataclass of its options.
    """

    reduces: ClassVar[str] = ""
    scale_invariant: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    eps_outside: ClassVar[bool] = False
    half_arithmetic: ClassVar[bool] = False
    exact_backward: ClassVar[bool] = True
    Config: ClassVar[type[NormConfig]] = NormConfig
    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(self, d_model: int, config: Any, max_len: int = 0):
        super().__init__()
        self.d_model = d_model
        self.config = config

    def extra_repr(self) -> str:
        """Width and options, in `print(model)`."""
        return f"{self.d_model}, {self.config}"

    @classmethod
    def reduced_axes(cls, config: NormConfig) -> str:
        """`reduces`, for a norm whose options widen it (adaptive norms conditioned on the sentence)."""
        return cls.reduces

    @classmethod
    def mixes_examples(cls, config: NormConfig) -> bool:
        """True where an example's output in training depends on the other examples of its batch."""
        return "B" in cls.reduced_axes(config)

    @classmethod
    def mixes_positions(cls, config: NormConfig) -> bool:
        """True where a position's output in training depends on other positions: a causal LM sees the future."""
        return "L" in cls.reduced_axes(config)

    @classmethod
    def has_running_statistics(cls, config: NormConfig) -> bool:
        """True where training and evaluation differ: batch statistics are remembered for evaluation."""
        return "B" in cls.reduces

    @classmethod
    def evaluates_with_batch(cls, config: NormConfig) -> bool:
        """True where evaluation takes the statistics of its input, as training does."""
        return not cls.has_running_statistics(config)

    @classmethod
    def sees_padding(cls, config: NormConfig) -> bool:
        """True where a valid token's output depends on padded positions."""
        return False

    @classmethod
    def fixed_length(cls, config: NormConfig) -> bool:
        """True where every input must have the length that the norm was built for."""
        return False

    def draw(self, generator: torch.Generator) -> None:
        """Start at random whatever does not start at a constant; most norms have nothing that does."""

    def add_affine(self, config: Any, *shape: int) -> None:
        """Create `weight` and `bias` of the given shape, as the options say."""
        ones = torch.full(shape, config.gamma_init)
        self.weight = nn.Parameter(ones) if config.affine else None
        self.bias = nn.Parameter(torch.zeros(shape)) if config.affine and config.bias else None

    def penalty(self) -> Tensor | None:
        """A term that this norm adds to the training loss, of the last forward pass in training; None for most."""
        return None

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize x; the output has the input's shape and dtype.

        Args:
            x_BLD: the input.
            mask_BL: True at valid tokens; None where all are. Norms without statistics over B or L ignore it.
            cond_BLD: the input embeddings, for adaptive norms; others ignore it.
        """
        raise NotImplementedError


class BatchStatistics:
    """Mixed into norms with running statistics: evaluation may use those of the batch instead."""

    evaluate_with_batch: bool = False


@contextmanager
def evaluating_with(model: nn.Module, statistics: str) -> Iterator[None]:
    """Let every norm of the model evaluate with "running" or with "batch" statistics meanwhile."""
    norms = [module for module in model.modules() if isinstance(module, BatchStatistics)]
    before = [norm.evaluate_with_batch for norm in norms]
    for norm in norms:
        norm.evaluate_with_batch = statistics == "batch"
    try:
        yield
    finally:
        for norm, value in zip(norms, before, strict=True):
            norm.evaluate_with_batch = value
