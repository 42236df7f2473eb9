"""BatchNorm over the tokens of a batch.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

from typing import ClassVar

import torch
from torch import Tensor

from normtrial.norms.base import NormConfig
from normtrial.norms.batch.running import RunningConfig, RunningNorm, unbiased
from normtrial.norms.kernels import batch_norm
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

    def _at_counted(self, x_ND: Tensor, counted_N: Tensor | None) -> Tensor:
        if not (self.uses_batch and self._kernel_is_exact(x_ND)):
            return super()._at_counted(x_ND, counted_N)
        num = len(x_ND) if counted_N is None else int(counted_N.sum())
        if not self.enough(num):
            return super()._at_counted(x_ND, counted_N)  # evaluation falls back on running statistics
        weight, bias = self._affine_in(x_ND.dtype)
        y_ND, mean, variance = batch_norm(x_ND, weight, bias, self.eps, None if num == len(x_ND) else counted_N)
        self._seen(Moments(mean, variance, mean.new_full((1,), num)))
        return y_ND

    def _kernel_is_exact(self, x_ND: Tensor) -> bool:
        """True where the fused kernel computes just what is wanted.

        It takes statistics in one precision and of one process. A compiler fuses the plain formula itself.
        """
        plain = x_ND.dtype == statistics_dtype(x_ND) and not self.fills_pads and self.total() is None
        return plain and x_ND.device.type == "cpu" and not torch.compiler.is_compiling()

    def _normalize(self, x_ND: Tensor, num_positions: int) -> Tensor:
        if self.uses_batch and self.enough(len(x_ND)):
            batch = self._moments(x_ND, num_positions)
            self._seen(batch)
            return self.learned(standardize(x_ND, batch.mean, batch.variance, self.eps))
        mean, variance = (b.to(x_ND.dtype) for b in (self.running_mean, self.running_var))
        if x_ND.dtype == statistics_dtype(x_ND):
            # torch's kernel computes α x + β, which loses the digits of a small spread around a large mean
            x_ND, mean = x_ND - mean, torch.zeros_like(mean)
            weight, bias = self._affine_in(x_ND.dtype)
            return torch.native_batch_norm(x_ND, weight, bias, mean, variance, False, self.momentum, self.eps)[0]
        return self.learned(standardize(x_ND, mean, variance, self.eps))

    def _affine_in(self, dtype: torch.dtype) -> tuple[Tensor | None, Tensor | None]:
        weight, bias = (None if p is None else p.to(dtype) for p in (self.weight, self.bias))
        return weight, bias

    def _moments(self, x_ND: Tensor, num_positions: int) -> Moments:
        """Mean, biased variance (D,) and number of what is counted."""
        total = self.total()
        mean, variance, num = (m[0, 0] for m in masked_moments(x_ND.unsqueeze(0), None, "BL", total))
        if self.fills_pads:
            positions = torch.full_like(num, num_positions)
            positions = positions if total is None else total(positions)
            variance, num = variance * (num / positions).to(variance.dtype), positions
        return Moments(mean, variance, num)

    def _seen(self, batch: Moments) -> None:
        """Keep the batch's statistics for probes and, in training, remember them; they still have a gradient."""
        self.observed = Moments(*(m.detach() for m in batch))
        if self.training:
            self.remember(
                running_mean=self.moved("running_mean", batch.mean),
                running_var=self.moved("running_var", unbiased(batch.variance, batch.num)),
            )
