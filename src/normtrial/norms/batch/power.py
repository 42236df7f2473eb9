"""PowerNorm: tokens of a batch divided by a quadratic mean, without centring.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from normtrial.errors import require
from normtrial.norms.base import NormConfig
from normtrial.norms.batch.running import RunningConfig, RunningNorm
from normtrial.norms.moments import Moments, masked_mean, root_mean_square


@dataclass(kw_only=True, slots=True)
class PowerVConfig(RunningConfig):
    """Options of `power_v`."""

    PADDINGS: ClassVar[tuple[str, ...]] = ("exclude", "include")  # filling by the mean belongs to centring norms

    token_rms: bool  # first divide each token by the root of its mean square, as the released module does


@dataclass(kw_only=True, slots=True)
class PowerConfig(PowerVConfig):
    """Options of `power`."""

    momentum_backward: float  # 1 − α_b: the share of the new batch in the running gradient statistic, in (0, 1]
    warmup_steps: int  # training batches that are divided by their own ψ_B, before the running one is trusted

    def check(self) -> None:
        """Ranges."""
        PowerVConfig.check(self)
        value = self.momentum_backward
        require(0 < value <= 1, f"norm.momentum_backward={value} must lie in (0, 1].")
        require(self.warmup_steps >= 0, f"norm.warmup_steps={self.warmup_steps} must not be negative.")


class PowerNormV(RunningNorm):
    """Per feature over all counted tokens of the batch: y = γ x / sqrt(ψ²_B + eps) + β, ψ²_B = mean(x²).

    Reduces B and L (and D with `token_rms`, which first divides each token by its RMS); ψ² has shape (D,).
    Training uses the batch, with the true gradient; evaluation the running ψ² (or the batch's, with
    `eval_stats=batch`, as long as it holds `min_valid_tokens`). Momentum is torch's: 1 − α. Excluded positions
    come out as 0 in training; a batch whose ψ² is not finite leaves the running one as it was.

    Raises:
        ValueError: training on fewer counted tokens than `min_valid_tokens`.

    Source: PN-V of Shen et al. 2020, arXiv 2003.07845: BatchNorm without the mean, between BN and PowerNorm.

    >>> config = PowerVConfig(
    ...     name="power_v", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none", token_rms=False)
    >>> y = PowerNormV(1, config)(torch.tensor([[[1.0], [7.0]]]))  # mean square 25
    >>> [f"{value:.2f}" for value in y.flatten().tolist()]
    ['0.20', '1.40']
    """

    reduces: ClassVar[str] = "BL"
    shift_invariant: ClassVar[bool] = False
    Config: ClassVar[type[NormConfig]] = PowerVConfig
    running_square: Tensor

    def __init__(self, d_model: int, config: PowerVConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        self.token_rms = config.token_rms
        self.register_buffer("running_square", torch.ones(d_model))

    @classmethod
    def reduced_axes(cls, config: NormConfig) -> str:
        """D joins where tokens are divided by their RMS first."""
        assert isinstance(config, PowerVConfig)
        return "BLD" if config.token_rms else cls.reduces

    def running(self) -> tuple[Tensor, Tensor]:
        """0, and the running mean square."""
        return torch.zeros_like(self.running_square), self.running_square

    def _normalize(self, x_ND: Tensor, num_positions: int) -> Tensor:
        if self.token_rms:
            x_ND = x_ND / root_mean_square(x_ND, self.eps)
        running = self.running_square.to(x_ND.dtype, copy=True)
        if not (self.uses_batch and self.enough(len(x_ND))):
            return self.learned(x_ND * torch.rsqrt(running + self.eps))
        mean, num = masked_mean(x_ND.square().unsqueeze(0), None, "BL", self.total())
        square = mean[0, 0]
        self.observed = Moments(torch.zeros_like(square), square.detach(), num[:, 0, 0])
        y_ND = self._divided(x_ND, square, running)
        if self.training:
            self.remember(running_square=self.moved("running_square", square))
        return self.learned(y_ND)

    def _divided(self, x_ND: Tensor, square: Tensor, running: Tensor) -> Tensor:
        """x̂ of a batch that may look at itself."""
        return x_ND * torch.rsqrt(square + self.eps)


class PowerNorm(PowerNormV):
    """Divided by the running quadratic mean, in training too: y = γ x̂ + β, x̂ = x / sqrt(ψ²_run + eps).

    Forward: ψ²_run is the one from before the batch, which then moves it: ψ²_run ← α ψ²_run + (1 − α) ψ²_B,
    ψ²_B = mean(x²), α = 1 − momentum. For the first `warmup_steps` training batches x̂ = x / sqrt(ψ²_B + eps).
    Backward, approximate, for ψ²_run depends on batches long gone: with g = ∂L/∂x̂,
    g̃ = g − (1 − α_b) ν ⊙ x̂,  ∂L/∂x = g̃ / sqrt(ψ²_B + eps),  ν ← ν + mean(g̃ ⊙ x̂),  ν at first 0,
    means over the counted tokens, in the warm-up too; γ and β have their true gradients. So gradcheck fails in
    training, and rightly. ψ² reduces B and L (and D with `token_rms`), shape (D,). After the warm-up no token of
    the batch enters another's output, only its gradient. Evaluation by ψ²_run, with the true gradient, or by the
    batch's ψ²_B (`eval_stats=batch`). Neither a ψ²_B nor a gradient that is not finite is remembered.

    Raises:
        ValueError: training on fewer counted tokens than `min_valid_tokens`.

    Source: Shen et al. 2020, arXiv 2003.07845; the division by ψ_B in the backward pass as in the released module,
    whose per-token RMS before it, which the paper does not have, is `token_rms=true` (one group of features).

    >>> config = PowerConfig(
    ...     name="power", eps=1e-5, stats_dtype="fp32", affine=True, bias=True, gamma_init=1.0, momentum=0.1,
    ...     padding="exclude", eval_stats="running", min_valid_tokens=2, sync="none", token_rms=False,
    ...     momentum_backward=0.1, warmup_steps=1)
    >>> norm, x = PowerNorm(1, config), torch.tensor([[[1.0], [7.0]]])
    >>> [[f"{value:.2f}" for value in norm(x).flatten().tolist()] for _ in range(2)]  # ψ² 25, then 0.9 + 0.1 · 25
    [['0.20', '1.40'], ['0.54', '3.80']]
    """

    Config: ClassVar[type[NormConfig]] = PowerConfig
    exact_backward: ClassVar[bool] = False
    running_gradient: Tensor

    def __init__(self, d_model: int, config: PowerConfig, max_len: int = 0):
        super().__init__(d_model, config, max_len)
        self.momentum_backward, self.warmup_steps = config.momentum_backward, config.warmup_steps
        self.register_buffer("running_gradient", torch.zeros(d_model))

    def _divided(self, x_ND: Tensor, square: Tensor, running: Tensor) -> Tensor:
        if not self.training:
            return super()._divided(x_ND, square, running)
        warm = self.get_buffer("num_batches_tracked") >= self.warmup_steps
        forward = torch.where(warm, running, square)
        scales = (torch.rsqrt(v + self.eps) for v in (forward.detach(), square.detach()))
        return _Divide.apply(x_ND, *scales, self)

    def corrected(self, g_ND: Tensor, y_ND: Tensor, scale_D: Tensor) -> Tensor:
        """g̃, and ν moved by it unless that or the batch's ψ_B is not finite; called once by each backward pass."""
        nu = self.running_gradient.to(g_ND.dtype)
        g_ND = g_ND - self.momentum_backward * nu * y_ND
        mean, _ = masked_mean((g_ND * y_ND).unsqueeze(0), None, "BL", self.total())
        moved = (nu + mean[0, 0]).to(self.running_gradient.dtype)
        finite = moved.isfinite().all() & (scale_D > 0).all()  # 1 / ψ_B is 0 or NaN where ψ_B is not finite
        self.running_gradient.copy_(torch.where(finite, moved, self.running_gradient))
        return g_ND


class _Divide(torch.autograd.Function):
    """x times one scale forward; the gradient, corrected by the norm, times another backward."""

    @staticmethod
    def forward(ctx: Any, x_ND: Tensor, forward_D: Tensor, backward_D: Tensor, norm: PowerNorm) -> Tensor:
        y_ND = x_ND * forward_D
        ctx.save_for_backward(y_ND, backward_D)
        ctx.norm = norm
        return y_ND

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g_ND: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        y_ND, backward_D = ctx.saved_tensors
        return ctx.norm.corrected(g_ND, y_ND, backward_D) * backward_D, None, None, None
