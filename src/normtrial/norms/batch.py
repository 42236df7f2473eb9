"""BatchNorm over the tokens of a batch.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from normtrial.errors import not_one_of, require
from normtrial.norms.base import AffineConfig, BatchStatistics, Norm, NormConfig
from normtrial.norms.moments import affine, masked_moments, standardize, statistics_dtype

PADDINGS = ("exclude", "include")
EVAL_STATS = ("running", "batch")


@dataclass(kw_only=True, slots=True)
class BatchNormConfig(AffineConfig):
    """Options of `bn`."""

    momentum: float  # torch's convention: the share of the new batch in the running statistics, in (0, 1]
    padding: str  # exclude: valid tokens only; include: padded positions count, as careless code does
    eval_stats: str  # running: as trained; batch: the evaluation batch's own

    def check(self) -> None:
        """Ranges of momentum, padding and eval_stats."""
        AffineConfig.check(self)
        require(0 < self.momentum <= 1, f"norm.momentum={self.momentum} must lie in (0, 1].")
        if self.padding not in PADDINGS:
            raise not_one_of("norm.padding", self.padding, PADDINGS)
        if self.eval_stats not in EVAL_STATS:
            raise not_one_of("norm.eval_stats", self.eval_stats, EVAL_STATS)


class BatchNorm(BatchStatistics, Norm):
    """Per feature over all counted tokens of the batch: y = γ (x − μ_B) / sqrt(σ²_B + eps) + β.

    Reduces B and L; statistics have shape (D,). σ²_B is biased when it normalizes and unbiased when it enters
    the running variance. Momentum is torch's: running ← (1 − momentum) running + momentum batch.
    Training uses the batch, evaluation the running statistics (or the batch's, with `eval_stats=batch`).
    Valid tokens get what `nn.BatchNorm1d(D)` gives on the (N, D) matrix of valid tokens; excluded positions
    come out as 0 in training. A batch whose statistics are not finite leaves the running ones as they were.

    Raises:
        ValueError: training on fewer than two counted tokens, whose variance says nothing.

    Source: Ioffe and Szegedy 2015, arXiv 1502.03167, algorithm 1 (there over images; here over tokens).

    >>> config = BatchNormConfig(name="bn", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0,
    ...                          momentum=0.1, padding="exclude", eval_stats="running")
    >>> x = torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]])
    >>> y = BatchNorm(1, config)(x, torch.tensor([[True, True], [True, False]]))
    >>> [f"{value:.2f}" for value in y.flatten().tolist()][::2]
    ['-1.22', '1.22']
    """

    reduces: ClassVar[str] = "BL"
    Config: ClassVar[type[NormConfig]] = BatchNormConfig
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, config: BatchNormConfig, max_len: int = 0):
        super().__init__(d_model, config)
        self.eps, self.momentum = config.eps, config.momentum
        self.counts_padding = config.padding == "include"
        self.evaluate_with_batch = config.eval_stats == "batch"
        self.in_input_dtype = config.stats_dtype == "input"
        self.add_affine(config, d_model)
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))
        self.register_buffer("num_batches_tracked", torch.tensor(0))

    @classmethod
    def evaluates_with_batch(cls, config: NormConfig) -> bool:
        """With `eval_stats=batch`."""
        assert isinstance(config, BatchNormConfig)
        return config.eval_stats == "batch"

    @classmethod
    def sees_padding(cls, config: NormConfig) -> bool:
        """With `padding=include`."""
        assert isinstance(config, BatchNormConfig)
        return config.padding == "include"

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Normalize; see the class."""
        if self.counts_padding or not (self.training or self.evaluate_with_batch):
            mask_BL = None  # every position takes part, or no statistics are taken
        flat = x_BLD.reshape(-1, x_BLD.shape[-1])
        if mask_BL is None:
            return self._normalize(flat).reshape(x_BLD.shape)
        valid = mask_BL.reshape(-1).nonzero().squeeze(1)
        y_ND = self._normalize(flat.index_select(0, valid))
        return torch.zeros_like(flat).index_copy(0, valid, y_ND).reshape(x_BLD.shape)

    def _normalize(self, x_ND: Tensor) -> Tensor:
        """BatchNorm of a matrix of tokens, in the precision of the statistics, given back in the input's."""
        use_batch = self.training or self.evaluate_with_batch
        if use_batch and len(x_ND) < 2:
            raise ValueError(
                f"BatchNorm needs at least 2 counted tokens in a batch, got {len(x_ND)}; "
                "raise data.batch_size, or choose a norm that does not look across examples."
            )
        dtype = x_ND.dtype if self.in_input_dtype else statistics_dtype(x_ND)
        mean, variance = (b.to(dtype, copy=use_batch) for b in (self.running_mean, self.running_var))
        weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
        kernel = F.batch_norm if dtype == statistics_dtype(x_ND) else _plain_batch_norm
        with torch.autocast(x_ND.device.type, enabled=False):
            y_ND = kernel(x_ND.to(dtype), mean, variance, weight, bias, use_batch, self.momentum, self.eps)
        if self.training:
            self._remember(mean, variance)
        return y_ND.to(x_ND.dtype)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        """Take over new running statistics, unless one is not finite: a single NaN would stay for good."""
        finite = mean.isfinite().all() & variance.isfinite().all()
        self.running_mean.copy_(torch.where(finite, mean, self.running_mean))
        self.running_var.copy_(torch.where(finite, variance, self.running_var))
        self.get_buffer("num_batches_tracked").add_(finite)


def _plain_batch_norm(
    x_ND: Tensor,
    mean_D: Tensor,
    variance_D: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    use_batch: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """`F.batch_norm` with every step in the input's precision, which torch's kernel never does."""
    if not use_batch:
        return affine(standardize(x_ND, mean_D, variance_D, eps), weight, bias)
    batch = masked_moments(x_ND.unsqueeze(0), None, "BL")
    unbiased = batch.variance[0, 0].detach() * (len(x_ND) / (len(x_ND) - 1))
    mean_D.lerp_(batch.mean[0, 0].detach(), momentum)
    variance_D.lerp_(unbiased, momentum)
    return affine(standardize(x_ND, batch.mean[0], batch.variance[0], eps), weight, bias)
