"""BatchNorm over the tokens of a batch.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

from typing import ClassVar

import torch
from torch import Tensor

from normtrial.norms.base import NormConfig
from normtrial.norms.batch.running import RunningConfig, RunningNorm, unbiased
from normtrial.norms.moments import Moments, masked_moments, standardize, statistics_dtype


class BatchNorm(RunningNorm):
    """Per feature over all counted tokens of the batch: y = γ (x − μ_B) / sqrt(σ²_B + eps) + β.

    Reduces B and L; statistics have shape (D,). σ²_B is biased when it normalizes and unbiased when it enters
    the running variance. Momentum is torch's: running ← (1 − momentum) running + momentum batch.
    Training uses the batch, evaluation the running statistics (or the batch's, with `eval_stats=batch`, as long
    as it holds `min_valid_tokens`). `padding=fill` replaces pads by the valid mean before counting, as a published
    code base does: μ stays, and σ² shrinks by the share of valid tokens.
    Valid tokens get what `nn.BatchNorm1d(D)` gives on the (N, D) matrix of valid tokens; excluded and filled
    positions come out as 0 in training. A batch whose statistics are not finite leaves the running ones as they
    were.

    Raises:
        ValueError: training on fewer counted tokens than `min_valid_tokens`.

    Source: Ioffe and Szegedy 2015, arXiv 1502.03167, algorithm 1 (there over images; here over tokens).

    >>> config = RunningConfig(
    ...     name="bn", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none")
    >>> x = torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]])
    >>> y = BatchNorm(1, config)(x, torch.tensor([[True, True], [True, False]]))
    >>> [f"{value:.2f}" for value in y.flatten().tolist()][::2]
    ['-1.22', '1.22']
    """

    reduces: ClassVar[str] = "BL"
    Config: ClassVar[type[NormConfig]] = RunningConfig
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, d_model: int, config: RunningConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def _normalize(self, x_ND: Tensor, num_positions: int) -> Tensor:
        if self.uses_batch and self.enough(x_ND):
            if self._fused_is_exact(x_ND):
                return self._fused(x_ND)
            batch = self._moments(x_ND, num_positions)
            return self._by(x_ND, batch)
        mean, variance = (b.to(x_ND.dtype) for b in (self.running_mean, self.running_var))
        if x_ND.dtype == statistics_dtype(x_ND):
            # torch's kernel computes α x + β, which loses the digits of a small spread around a large mean
            return self._kernel(x_ND - mean, torch.zeros_like(mean), variance, training=False)[0]
        return self.learned(standardize(x_ND, mean, variance, self.eps))

    def _fused_is_exact(self, x_ND: Tensor) -> bool:
        """True where torch's kernel computes just what is wanted; it never takes statistics in half precision."""
        return x_ND.dtype == statistics_dtype(x_ND) and not self.fills_pads and self.total() is None

    def _fused(self, x_ND: Tensor) -> Tensor:
        """By torch's kernel, which also moves the running statistics (a copy of them).

        It sums in order, and a sum of thousands leaves 3000 ± 0.05 three digits of its variance. So all tokens are
        moved by the first one, which changes neither output nor gradient.
        """
        shift = x_ND[0].detach()
        mean, variance = self.running_mean.to(x_ND.dtype) - shift, self.running_var.to(x_ND.dtype, copy=True)
        y_ND, batch_mean, inverse = self._kernel(x_ND - shift, mean, variance, training=True)
        batch_mean, mean = batch_mean + shift, mean + shift
        num = torch.full((1,), float(len(x_ND)), device=x_ND.device)
        self.observed = Moments(batch_mean.detach(), (inverse.detach() ** -2 - self.eps).clamp(min=0), num)
        if self.training:
            self.remember(running_mean=mean, running_var=variance)
        return y_ND

    def _kernel(
        self, x_ND: Tensor, mean: Tensor, variance: Tensor, *, training: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Output, and in training the batch's mean and 1 / sqrt(σ² + eps)."""
        weight, bias = (None if p is None else p.to(x_ND.dtype) for p in (self.weight, self.bias))
        return torch.native_batch_norm(x_ND, weight, bias, mean, variance, training, self.momentum, self.eps)

    def _moments(self, x_ND: Tensor, num_positions: int) -> Moments:
        """Mean, biased variance (D,) and number of what is counted."""
        total = self.total()
        mean, variance, num = (m[0, 0] for m in masked_moments(x_ND.unsqueeze(0), None, "BL", total))
        if self.fills_pads:
            positions = torch.full_like(num, num_positions)
            positions = positions if total is None else total(positions)
            variance, num = variance * (num / positions).to(variance.dtype), positions
        return Moments(mean, variance, num)

    def _by(self, x_ND: Tensor, batch: Moments) -> Tensor:
        """Normalize by the batch's statistics and, in training, remember them."""
        self.observed = Moments(*(m.detach() for m in batch))
        if self.training:
            self.remember(
                running_mean=self.moved("running_mean", batch.mean),
                running_var=self.moved("running_var", unbiased(batch.variance, batch.num)),
            )
        return self.learned(standardize(x_ND, batch.mean, batch.variance, self.eps))
