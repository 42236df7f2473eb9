"""BatchNorm with statistics of its own at each position.

Shapes: B examples, L positions, D model width, T positions with running statistics (data.max_len).
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from normtrial.errors import not_one_of
from normtrial.norms.base import NormConfig
from normtrial.norms.batch.ranks import max_over_ranks
from normtrial.norms.batch.running import RunningConfig, RunningNorm, unbiased
from normtrial.norms.moments import Moments, masked_moments, standardize, statistics_dtype

UNSEEN = ("raise", "clamp", "pooled")


@dataclass(kw_only=True, slots=True)
class PositionConfig(RunningConfig):
    """Options of `bn_pos`."""

    unseen: str  # a position without statistics: an error (raise), the nearest's (clamp), those of all (pooled)

    def check(self) -> None:
        """A known policy."""
        RunningConfig.check(self)
        if self.unseen not in UNSEEN:
            raise not_one_of("norm.unseen", self.unseen, UNSEEN)


class PositionBatchNorm(RunningNorm):
    """Per feature and position over the examples: y = γ (x − μ_t) / sqrt(σ²_t + eps) + β at position t.

    Reduces B; statistics have shape (L, D), over the valid tokens at each position; running ones (T, D), where T
    is data.max_len. In training a position with at least `min_valid_tokens` counted tokens is normalized by them,
    and its running statistics move (σ² unbiased, momentum as in torch; a position that was never seen starts at
    the pooled ones, so that two tokens which happen to be alike leave no variance near 0 behind). At every other
    position, and everywhere in evaluation, the running statistics from before this batch stand in, as constants. A
    position that has none, never seen with enough tokens or beyond data.max_len, gets what `unseen` says:

    - raise: an error, as soon as a valid token stands there, in training too (so for texts of one length only);
    - clamp: the running statistics of the nearest seen position before it; before all of them, of the first;
    - pooled: running statistics over all counted tokens whatever their position, those that `bn` would have
      (but with `padding=fill` a pad counts as the valid mean of its own position).

    Nothing is seen at the very start: clamp and pooled then stand in with mean 0 and variance 1.
    `eval_stats=batch` evaluates as training does, and remembers nothing. γ and β (D,) are shared by all positions.
    Excluded and filled positions come out as 0 where the batch normalizes itself; a batch whose statistics are not
    finite leaves every running one as it was.

    Raises:
        ValueError: training on a batch that holds `min_valid_tokens` at no position, or see `unseen=raise`.

    Source: statistics over dimension 0 of (B, L, D), as tutorials write BatchNorm for text (there without a mask,
    running statistics or an answer for unseen positions); in recurrent networks Cooijmans et al. 2017, arXiv
    1603.09025, who clamp longer inputs to the last position's statistics.

    >>> config = PositionConfig(
    ...     name="bn_pos", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none", unseen="pooled")
    >>> x = torch.tensor([[[1.0], [30.0]], [[5.0], [90.0]]])
    >>> [f"{value:.2f}" for value in PositionBatchNorm(1, config, max_len=2)(x).flatten().tolist()]
    ['-1.00', '-1.00', '1.00', '1.00']
    """

    reduces: ClassVar[str] = "B"
    Config: ClassVar[type[NormConfig]] = PositionConfig
    running_mean: Tensor
    running_var: Tensor
    pooled_mean: Tensor
    pooled_var: Tensor
    num_updates: Tensor

    @classmethod
    def sees_padding(cls, config: NormConfig) -> bool:
        """With `padding=include` only: pads elsewhere change no position's statistics."""
        assert isinstance(config, PositionConfig)
        return config.padding == "include"

    def __init__(self, d_model: int, config: PositionConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        assert max_len > 0, "statistics per position need the longest input of training"
        self.max_len, self.unseen = max_len, config.unseen
        self.register_buffer("running_mean", torch.zeros(max_len, d_model))
        self.register_buffer("running_var", torch.ones(max_len, d_model))
        self.register_buffer("pooled_mean", torch.zeros(d_model))
        self.register_buffer("pooled_var", torch.ones(d_model))
        self.register_buffer("num_updates", torch.zeros(max_len, dtype=torch.int64))

    def compared(self) -> tuple[Moments, Moments] | None:
        """As of every such norm, at all T positions; where the batch has no token its number is 0."""
        pair = super().compared()
        if pair is None:
            return None
        batch = (F.pad(m[: self.max_len], (0, 0, 0, max(0, self.max_len - len(m)))) for m in pair[0])
        return Moments(*batch), pair[1]

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize; see the class."""
        counted_BL = None if self.counts_pads else mask_BL
        x = x_BLD.to(self.computed_in(x_BLD))
        with torch.autocast(x_BLD.device.type, enabled=False):
            if not self.uses_batch:
                mean, variance = self._running(x, _needed(x, counted_BL))
                return self.learned(standardize(x, mean, variance, self.eps)).to(x_BLD.dtype)
            if counted_BL is not None:
                x = torch.where(counted_BL.unsqueeze(-1), x, 0.0)
            y = self.learned(self._by_batch(x, counted_BL)).to(x_BLD.dtype)
            return y if counted_BL is None else torch.where(counted_BL.unsqueeze(-1), y, 0.0)

    def _by_batch(self, x_BLD: Tensor, counted_BL: Tensor | None) -> Tensor:
        """x̂, where the batch normalizes itself at every position that has enough tokens."""
        valid, positions = self._moments(x_BLD, counted_BL)
        enough_L1 = valid.num >= self.min_valid_tokens
        self.require_enough(int(valid.num.max()) if valid.num.numel() else 0, bool(enough_L1.any()))
        length = x_BLD.shape[1]
        few_L = ~enough_L1[:length, 0] & _needed(x_BLD, counted_BL)
        mean, variance = self._running(x_BLD, few_L)
        mean = torch.where(enough_L1[:length], valid.mean[:length], mean)
        variance = torch.where(enough_L1[:length], valid.variance[:length], variance)
        if self.training:
            self._remember(valid._replace(num=positions), enough_L1)
        self.observed = Moments(*(m.detach() for m in valid))
        return standardize(x_BLD, mean, variance, self.eps)

    def _moments(self, x_BLD: Tensor, counted_BL: Tensor | None) -> tuple[Moments, Tensor]:
        """Mean and variance (L, D) and number (L, 1) of counted tokens by position; number with filled pads."""
        total = self.total()
        num_rows = torch.tensor(len(x_BLD), dtype=statistics_dtype(x_BLD), device=x_BLD.device)
        if total is not None:  # every process sums over as many positions as the longest batch has
            num_rows = total(num_rows)
            if counted_BL is None:
                counted_BL = torch.ones(x_BLD.shape[:2], dtype=torch.bool, device=x_BLD.device)
            missing = max_over_ranks(x_BLD.shape[1], x_BLD.device) - x_BLD.shape[1]
            x_BLD, counted_BL = F.pad(x_BLD, (0, 0, 0, missing)), F.pad(counted_BL, (0, missing))
        mean, variance, num = (m[0] for m in masked_moments(x_BLD, counted_BL, "B", total))
        num = num[:, :1].expand(len(mean), 1)
        if self.fills_pads:
            filled = torch.where(num > 0, num_rows, 0.0)
            return Moments(mean, variance * (num / filled.clamp(min=1)).to(variance.dtype), num), filled
        return Moments(mean, variance, num), num

    def _running(self, x_BLD: Tensor, needed_L: Tensor) -> tuple[Tensor, Tensor]:
        """Running mean and variance (L, D) in the precision of x, with what `unseen` says where there are none."""
        length = x_BLD.shape[1]
        at_L = torch.arange(length, device=x_BLD.device)
        seen_L = F.pad(self.num_updates > 0, (0, max(0, length - self.max_len)))[:length]
        if self.unseen == "raise" and (lacking := needed_L & ~seen_L).any():
            raise ValueError(
                f"norm={self.config.name} has no statistics at position {int(lacking.nonzero()[0])}: no batch of "
                f"training held {self.min_valid_tokens} tokens there, or it lies beyond "
                f"data.max_len={self.max_len}. "
                "Set norm.unseen=pooled or clamp, or train on texts that are as long."
            )
        if self.unseen == "clamp":
            seen_T = self.num_updates > 0
            first = seen_T.int().argmax()  # 0 where nothing is seen
            last_T = torch.where(seen_T, torch.arange(self.max_len, device=at_L.device), first).cummax(0).values
            source_L = last_T[at_L.clamp(max=self.max_len - 1)]
            mean, variance = self.running_mean[source_L], self.running_var[source_L]
        else:
            source_L, seen_L1 = at_L.clamp(max=self.max_len - 1), seen_L.unsqueeze(1)
            mean = torch.where(seen_L1, self.running_mean[source_L], self.pooled_mean)
            variance = torch.where(seen_L1, self.running_var[source_L], self.pooled_var)
        return mean.to(x_BLD.dtype), variance.to(x_BLD.dtype)

    @torch.no_grad()
    def _remember(self, batch: Moments, enough_L1: Tensor) -> None:
        """Move the running statistics of positions with enough tokens, and the pooled ones; or none at all."""
        length = min(len(batch.mean), self.max_len)
        enough, num = enough_L1[:length], batch.num
        seen = self.num_updates[:length].unsqueeze(1) > 0
        moved = {}
        for kind, new in (("mean", batch.mean), ("var", unbiased(batch.variance, num))):
            buffer = self.get_buffer(f"running_{kind}").to(new.dtype, copy=True)
            start = torch.where(seen, buffer[:length], self.get_buffer(f"pooled_{kind}").to(new.dtype))
            buffer[:length] = torch.where(enough, start.lerp(new[:length], self.momentum), buffer[:length])
            moved[f"running_{kind}"] = buffer
        share_L1 = (num / num.sum().clamp(min=1)).to(batch.mean.dtype)  # of all tokens; the law of total variance
        mean = (share_L1 * batch.mean).sum(0)
        variance = (share_L1 * (batch.variance + (batch.mean - mean).square())).sum(0)
        moved["pooled_mean"] = self.moved("pooled_mean", mean)
        moved["pooled_var"] = self.moved("pooled_var", unbiased(variance, num.sum()))
        before = self.get_buffer("num_batches_tracked").clone()
        self.remember(**moved)
        self.num_updates[:length] += enough[:, 0] * (self.get_buffer("num_batches_tracked") - before)


def _needed(x_BLD: Tensor, counted_BL: Tensor | None) -> Tensor:
    """True at positions (L,) where a counted token stands."""
    if counted_BL is None:
        return torch.full((x_BLD.shape[1],), len(x_BLD) > 0, device=x_BLD.device)
    return counted_BL.any(0)
