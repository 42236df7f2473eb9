"""BatchNorm that is fined for statistics which differ between training and evaluation.

Shapes: D model width, N counted tokens.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from normtrial.errors import require
from normtrial.norms.base import NormConfig
from normtrial.norms.batch.pooled import BatchNorm
from normtrial.norms.batch.running import RunningConfig
from normtrial.norms.moments import Moments


@dataclass(kw_only=True, slots=True)
class RegularizedConfig(RunningConfig):
    """Options of `rbn`."""

    lambda_mean: float  # weight of Σ (μ_run − μ_B)² in the loss
    lambda_var: float  # weight of Σ |σ²_run − σ²_B| in the loss

    def check(self) -> None:
        """Weights of a fine, not of a reward."""
        RunningConfig.check(self)
        for name in ("lambda_mean", "lambda_var"):
            value = getattr(self, name)
            require(0 <= value < 1e6, f"norm.{name}={value} must be finite and not negative.")


class RegularizedBatchNorm(BatchNorm):
    """`bn`, and a term in the training loss: λ_mean Σ_D (μ_run − μ_B)² + λ_var Σ_D |σ²_run − σ²_B|.

    Reduces B and L; output and running statistics are those of `bn` with the same momentum. The running side is
    detached, so that the fine moves the batch towards what evaluation uses. It is taken against the running
    statistics from before the batch moves them (the ones that an evaluation at that moment would have used), and
    σ²_B is unbiased there, as what it is compared with. `penalty()` returns it, for the last forward pass in
    training; the loop adds it to the loss and logs it. Evaluation has none.

    Source: Wang, Wu and Huang 2022, arXiv 2210.05153. Differs from the released code: eps is added to the
    variance as in every norm here (there the variance is clamped at eps), so that weights of 0 give `bn` bit for
    bit; the running variance is of unbiased ones (there biased); the variance is taken in two passes (there as
    E[x²] − μ²); and there the running statistics move first, which scales their differences by 1 − momentum.

    >>> config = RegularizedConfig(
    ...     name="rbn", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none",
    ...     lambda_mean=0.1, lambda_var=1.0)
    >>> norm = RegularizedBatchNorm(1, config)
    >>> y = norm(torch.tensor([[[1.0], [3.0]]]))  # mean 2 against 0, variance 2 against 1
    >>> round(norm.penalty().item(), 4)
    1.4
    """

    Config: ClassVar[type[NormConfig]] = RegularizedConfig

    def __init__(self, d_model: int, config: RegularizedConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        self.lambda_mean, self.lambda_var = config.lambda_mean, config.lambda_var
        self._penalty: Tensor | None = None

    def penalty(self) -> Tensor | None:
        """The fine of the last forward pass in training; None after one in evaluation."""
        return self._penalty

    def _at_counted(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        self._penalty = None
        return super()._at_counted(x_ND, counted_N)

    def _seen(self, batch: Moments) -> None:
        if self.training:
            self._penalty = self._fine(batch)
        super()._seen(batch)

    def _fine(self, batch: Moments) -> Tensor:
        """In float32 or better, whatever the statistics are taken in."""
        kind = torch.promote_types(batch.mean.dtype, torch.float32)
        mean, num = batch.mean.to(kind), batch.num.to(kind)
        variance = batch.variance.to(kind) * (num / (num - 1).clamp(min=1))
        means = (self.running_mean.to(kind, copy=True) - mean).square().sum()
        variances = (self.running_var.to(kind, copy=True) - variance).abs().sum()
        return self.lambda_mean * means + self.lambda_var * variances
