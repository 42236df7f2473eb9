"""Hand-fused passes where torch has only a chain of simple ones on a CPU.

Shapes: B examples, L positions, D model width; N tokens, M of them counted.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

FAR = 100  # times the variance: from there on the square of a mean costs two digits


def rms_norm(x_BLD: Tensor, weight_D: Tensor | None, eps: float) -> Tensor:
    """γ x / sqrt(mean(x²) + eps) over the last axis, in float32 or better.

    `F.rms_norm`, which on a CPU is nine passes forward and backward and takes five times as long as LayerNorm.
    There it is three passes forward, and backward is LayerNorm's own kernel with one term taken out again.

    >>> rms_norm(torch.tensor([[3.0, 4.0]]), None, 0.0).square().mean().item()
    1.0
    """
    if x_BLD.device.type != "cpu" or not x_BLD.numel():
        return F.rms_norm(x_BLD, x_BLD.shape[-1:], weight_D, eps)
    return _RMSNorm.apply(x_BLD, weight_D, eps)  # type: ignore[return-value]


class _RMSNorm(torch.autograd.Function):
    """With r = 1 / sqrt(mean(x²) + eps), h = γ ⊙ ∂y and c = mean(h ⊙ x): ∂x = r h − r³ c x, ∂γ = Σ r x ⊙ ∂y.

    LayerNorm's backward pass, told that the mean is 0 and 1/σ is r, gives ∂γ and ∂x − r mean(h).
    """

    @staticmethod
    def forward(ctx: Any, x_BLD: Tensor, weight_D: Tensor | None, eps: float) -> Tensor:
        num = x_BLD.shape[-1]
        length_BL1 = torch.linalg.vector_norm(x_BLD, dim=-1, keepdim=True)
        r_BL1 = num**0.5 / length_BL1.hypot_(length_BL1.new_full((), (num * eps) ** 0.5))
        y_BLD = x_BLD * r_BL1
        if weight_D is not None:
            y_BLD *= weight_D
        ctx.save_for_backward(x_BLD, weight_D, r_BL1)
        return y_BLD

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_BLD: Tensor) -> tuple[Tensor | None, Tensor | None, None]:  # type: ignore[override]
        x_BLD, weight_D, r_BL1 = ctx.saved_tensors
        num, wanted = x_BLD.shape[-1], ctx.needs_input_grad[0]
        dx_BLD, dweight_D, _ = torch.ops.aten.native_layer_norm_backward(
            grad_BLD,
            x_BLD,
            [num],
            torch.zeros_like(r_BL1),
            r_BL1,
            weight_D,
            None,
            [wanted, weight_D is not None and ctx.needs_input_grad[1], False],
        )
        if wanted:
            h_BL = grad_BLD.mean(-1) if weight_D is None else grad_BLD @ (weight_D / num)
            # A pass of `addcmul`, which repeats both over the features, takes ten times as long.
            dx_BLD += h_BL.unsqueeze(-1) * r_BL1
        return (dx_BLD if wanted else None), dweight_D, None


def batch_norm(
    x_ND: Tensor, weight_D: Tensor | None, bias_D: Tensor | None, eps: float, counted_N: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """γ (x − μ) / sqrt(σ² + eps) + β, with mean and biased variance of each feature over the counted tokens.

    Returns y, which is 0 at other tokens whatever they hold, μ and σ²; gradients flow through all three.
    Tokens are packed and laid out again inside, which costs a pass each where a chain of gathers costs five.

    >>> y, mean, variance = batch_norm(torch.tensor([[1.0], [3.0], [99.0]]), None, None, 0.0,
    ...                                torch.tensor([True, True, False]))
    >>> y.flatten().tolist(), mean.item(), variance.item()
    ([-1.0, 1.0, 0.0], 2.0, 1.0)
    """
    rows_M = place_N = None
    if counted_N is not None:
        rows_M = counted_N.nonzero().squeeze(1)
        place_N = torch.where(counted_N, counted_N.cumsum(0) - 1, len(rows_M))
    return _BatchNorm.apply(x_ND, weight_D, bias_D, eps, rows_M, place_N)  # type: ignore[return-value]


class _BatchNorm(torch.autograd.Function):
    """∂x = γ r (∂y − mean(∂y) − x̂ mean(x̂ ⊙ ∂y)) + ∂μ / M + 2 (x − μ) ∂σ² / M, where x̂ = r (x − μ).

    r is 1 / sqrt(σ² + eps).
    torch's kernel of statistics sums in order, and a sum of thousands leaves 3000 ± 0.05 three digits of its
    variance. So tokens far from zero are moved by the first one, which changes neither output nor gradient.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x_ND: Tensor,
        weight_D: Tensor | None,
        bias_D: Tensor | None,
        eps: float,
        rows_M: Tensor | None,
        place_N: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        x_MD, moved_D = x_ND if rows_M is None else x_ND.index_select(0, rows_M), 0
        mean_D, variance_D = torch.batch_norm_update_stats(x_MD, None, None, 0.0)
        if (mean_D.square() > FAR * variance_D).any():
            moved_D = x_MD[0]
            x_MD = x_MD - moved_D
            mean_D, variance_D = torch.batch_norm_update_stats(x_MD, None, None, 0.0)
        r_D = (variance_D + eps).rsqrt_()
        scale_D = r_D if weight_D is None else weight_D * r_D
        offset_D = -mean_D * scale_D if bias_D is None else torch.addcmul(bias_D, mean_D, scale_D, value=-1)
        ctx.save_for_backward(x_MD, scale_D, mean_D, r_D, rows_M, place_N)
        return _laid_out([(x_MD, scale_D)], offset_D, place_N), mean_D + moved_D, variance_D

    @staticmethod
    @once_differentiable
    def backward(  # type: ignore[override]
        ctx: Any, grad_ND: Tensor, dmean_D: Tensor, dvariance_D: Tensor
    ) -> tuple[Tensor | None, ...]:
        x_MD, scale_D, mean_D, r_D, rows_M, place_N = ctx.saved_tensors
        grad_MD, num = grad_ND if rows_M is None else grad_ND.index_select(0, rows_M), len(x_MD)
        _, dweight_D, dbias_D = torch.ops.aten.native_batch_norm_backward(
            grad_MD, x_MD, None, None, None, mean_D, r_D, True, 0.0, [False, True, True]
        )
        slope_D = (2 * dvariance_D - scale_D * r_D * dweight_D) / num
        constant_D = (dmean_D - scale_D * dbias_D) / num - slope_D * mean_D
        dx_ND = _laid_out([(x_MD, slope_D), (grad_MD, scale_D)], constant_D, place_N)
        _, has_weight, has_bias, *_ = ctx.needs_input_grad
        return dx_ND, dweight_D if has_weight else None, dbias_D if has_bias else None, None, None, None


def _laid_out(products: list[tuple[Tensor, Tensor]], offset_D: Tensor, place_N: Tensor | None) -> Tensor:
    """offset + Σ values ⊙ factor of the counted tokens, at their places; 0 at the others."""
    (first_MD, factor_D), *others = products
    num = len(first_MD)
    rows = first_MD.new_empty(num + (place_N is not None), first_MD.shape[1])
    counted_MD = rows[:num]
    torch.addcmul(offset_D, first_MD, factor_D, out=counted_MD)
    for values_MD, factor_D in others:
        counted_MD.addcmul_(values_MD, factor_D)
    if place_N is None:
        return rows
    rows[num] = 0  # where the others find theirs
    return rows.index_select(0, place_N)
