"""What the BatchNorm family shares: options, counted positions, running statistics that no bad batch can spoil.

Momentum is torch's: running ← (1 − momentum) · running + momentum · batch.
Shapes: B examples, L positions, D model width, N counted tokens.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from normtrial.errors import not_one_of, require
from normtrial.norms.base import AffineConfig, BatchStatistics, Norm, NormConfig
from normtrial.norms.batch.ranks import several_ranks, sum_over_ranks
from normtrial.norms.moments import Moments, Total, affine, arithmetic_dtype

EVAL_STATS = ("running", "batch")
SYNC = ("none", "global")


@dataclass(kw_only=True, slots=True)
class RunningConfig(AffineConfig):
    """Options of every norm that remembers statistics of batches."""

    PADDINGS: ClassVar[tuple[str, ...]] = ("exclude", "include", "fill")

    momentum: float  # torch's convention: the share of the new batch in the running statistics, in (0, 1]
    padding: str  # exclude: valid tokens only; include: pads count too; fill: pads count as the valid mean
    eval_stats: str  # running: as trained; batch: the evaluation batch's own, where it holds enough tokens
    min_valid_tokens: int  # the fewest counted tokens that statistics are taken of; at least 2
    sync: str  # none: each process by itself; global: statistics over the tokens of all processes

    def check(self) -> None:
        """Ranges of momentum and min_valid_tokens, and known names."""
        AffineConfig.check(self)
        require(0 < self.momentum <= 1, f"norm.momentum={self.momentum} must lie in (0, 1].")
        require(
            self.min_valid_tokens >= 2,
            f"norm.min_valid_tokens={self.min_valid_tokens} must be at least 2: a single token has no variance.",
        )
        for option, allowed in (("padding", self.PADDINGS), ("eval_stats", EVAL_STATS), ("sync", SYNC)):
            if getattr(self, option) not in allowed:
                raise not_one_of(f"norm.{option}", getattr(self, option), allowed)


class RunningNorm(BatchStatistics, Norm):
    """A norm that takes its statistics from the batch in training and remembers them for evaluation.

    Subclasses write `_normalize`, for a matrix of counted tokens; norms whose statistics differ from position to
    position write `forward` instead.

    Attributes:
        observed: mean, biased variance and number of tokens of the last batch that normalized itself, detached; of
            PowerNorm 0, the mean square and the number. What a probe reads after a training step.
    """

    observed: Moments | None = None

    def __init__(self, d_model: int, config: Any, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps, self.momentum = config.eps, config.momentum
        self.min_valid_tokens = config.min_valid_tokens
        self.counts_pads, self.fills_pads = config.padding == "include", config.padding == "fill"
        self.evaluate_with_batch = config.eval_stats == "batch"
        self.in_input_dtype = config.stats_dtype == "input"
        self.over_ranks = config.sync == "global"
        self.add_affine(config, d_model)
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    @classmethod
    def evaluates_with_batch(cls, config: NormConfig) -> bool:
        """With `eval_stats=batch`."""
        assert isinstance(config, RunningConfig)
        return config.eval_stats == "batch"

    @classmethod
    def sees_padding(cls, config: NormConfig) -> bool:
        """With `padding=include` by what pads hold, with `fill` by how many there are."""
        assert isinstance(config, RunningConfig)
        return config.padding != "exclude"

    def compared(self) -> tuple[Moments, Moments] | None:
        """(`observed`, the running statistics of the same places, which that batch has moved already); for probes.

        Of running statistics the number is that of batches. None before the first batch.
        """
        if self.observed is None:
            return None
        return self.observed, Moments(*self.running(), self.get_buffer("num_batches_tracked"))

    def running(self) -> tuple[Tensor, Tensor]:
        """Running mean and variance."""
        return self.get_buffer("running_mean"), self.get_buffer("running_var")

    @property
    def uses_batch(self) -> bool:
        """True where the batch normalizes itself."""
        return self.training or self.evaluate_with_batch

    def total(self) -> Total | None:
        """How sums are completed: over all processes where there are several and `sync=global`."""
        return sum_over_ranks if self.over_ranks and several_ranks() else None

    def computed_in(self, x: Tensor) -> torch.dtype:
        """The precision of statistics and normalization."""
        return arithmetic_dtype(x, self.in_input_dtype)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize; see the class."""
        if self.counts_pads or not self.uses_batch:
            mask_BL = None  # every position takes part, or no statistics are taken
        x_ND = x_BLD.reshape(-1, x_BLD.shape[-1]).to(self.computed_in(x_BLD))
        counted_N = None if mask_BL is None else mask_BL.reshape(-1)
        with torch.autocast(x_BLD.device.type, enabled=False):
            y_ND = self._at_counted(x_ND, counted_N)
        return y_ND.to(x_BLD.dtype).reshape(x_BLD.shape)

    def _at_counted(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        """Normalize counted tokens, all of them where None; the others come out as 0."""
        if counted_N is None:
            return self._normalize(x_ND, len(x_ND))
        rows = counted_N.nonzero().squeeze(1)
        y_ND = self._normalize(x_ND.index_select(0, rows), len(x_ND))
        return torch.zeros_like(x_ND).index_copy(0, rows, y_ND)

    def _normalize(self, x_ND: Tensor, num_positions: int) -> Tensor:
        """Normalize counted tokens, in the precision in which they come; `num_positions` includes pads."""
        raise NotImplementedError

    def enough(self, num: int) -> bool:
        """True where so many tokens, over all processes, may give statistics; training on fewer is an error."""
        if torch.compiler.is_compiling():
            return True
        if total := self.total():
            num = int(total(torch.tensor(num, device=self.get_buffer("num_batches_tracked").device)))
        return self.require_enough(num, num >= self.min_valid_tokens)

    def require_enough(self, num: int, enough: bool) -> bool:
        """`enough`, or in training an error.

        Raises:
            ValueError: training on too few counted tokens, whose variance says nothing.
        """
        if torch.compiler.is_compiling():
            return True  # a branch on a count would break the graph, so too few tokens go unnoticed there
        if self.training and not enough:
            raise ValueError(
                f"norm={self.config.name} needs at least {self.min_valid_tokens} counted tokens in a batch"
                f"{' at some position' if 'L' not in self.reduces else ''}, got {num}; raise data.batch_size "
                "(or lower norm.min_valid_tokens), or choose a norm that does not look across examples."
            )
        return enough

    def learned(self, y: Tensor) -> Tensor:
        """γ y + β, in the precision of y."""
        return affine(y, *(None if p is None else p.to(y.dtype) for p in (self.weight, self.bias)))

    def moved(self, name: str, new: Tensor) -> Tensor:
        """The running statistic moved by `momentum` towards the batch's."""
        return self.get_buffer(name).to(new.dtype).lerp(new.detach(), self.momentum)

    @torch.no_grad()
    def remember(self, **statistics: Tensor) -> None:
        """Take over new running statistics, unless one is not finite: a single NaN would stay for good."""
        finite = torch.stack([_storable(new, self.get_buffer(name)) for name, new in statistics.items()]).all()
        for name, new in statistics.items():
            buffer = self.get_buffer(name)
            buffer.copy_(torch.where(finite, new.to(buffer.dtype), buffer))
        # A new tensor: torch.compile would let a backward pass that needs the old count read one added in place.
        self.num_batches_tracked = self.get_buffer("num_batches_tracked") + finite


def _storable(new: Tensor, buffer: Tensor) -> Tensor:
    """Finite also in the buffer's precision, where 70,000 is infinite if that is float16."""
    return new.to(buffer.dtype).isfinite().all()


def unbiased(variance: Tensor, num: Tensor) -> Tensor:
    """σ² n / (n − 1), as it enters the running variance."""
    return variance.detach() * (num / (num - 1).clamp(min=1)).to(variance.dtype)
