"""Masked moments and what is done with them: every norm goes through here or through torch's own fused op.

Shapes: B examples, L positions, D model width; N valid tokens.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

AXES = "BLD"
Total = Callable[[Tensor], Tensor]  # completes a sum: over the processes of a distributed run


class Moments(NamedTuple):
    """Mean, biased variance and number of values over the reduced axes, which are kept with size one."""

    mean: Tensor
    variance: Tensor
    num: Tensor


def statistics_dtype(x: Tensor) -> torch.dtype:
    """float32 for half precision, the input's own dtype otherwise: statistics are never taken in less."""
    return torch.promote_types(x.dtype, torch.float32)


def arithmetic_dtype(x: Tensor, in_input_dtype: bool) -> torch.dtype:
    """In which precision a norm computes: that of statistics, or the input's.

    Under autocast "the input's" is autocast's own, since the residual stream stays in float32 there.
    """
    if not in_input_dtype:
        return statistics_dtype(x)
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype


def masked_mean(
    x_BLD: Tensor, mask_BL: Tensor | None, axes: str, total: Total | None = None
) -> tuple[Tensor, Tensor]:
    """Mean over the named axes, counting valid positions only; and the number of values counted.

    Masked by selection, never by multiplication, so NaN in a padded position stays there.
    An empty selection has mean 0 and count 0. `total` adds what other processes hold of the reduced axes.
    """
    dims = [AXES.index(axis) for axis in axes]
    if mask_BL is None:
        size = float(_product(x_BLD.shape[d] for d in dims))
        count = torch.full((1, 1, 1), size, dtype=statistics_dtype(x_BLD), device=x_BLD.device)
        if total is None:
            return x_BLD.mean(dims, keepdim=True), count
        sums = x_BLD.sum(dims, keepdim=True)
    else:
        valid = mask_BL.unsqueeze(-1)
        count = valid.expand_as(x_BLD).sum(dims, keepdim=True).to(statistics_dtype(x_BLD))
        sums = torch.where(valid, x_BLD, 0.0).sum(dims, keepdim=True)
    if total is not None:
        sums, count = total(sums), total(count)
    return (sums / count.clamp(min=1)).to(x_BLD.dtype), count


def masked_moments(x_BLD: Tensor, mask_BL: Tensor | None, axes: str, total: Total | None = None) -> Moments:
    """Mean and biased variance over the named axes, valid positions only.

    μ = Σ x / n,  σ² = Σ (x − μ)² / n, in two passes: the one-pass E[x²] − μ² loses every digit where |μ| ≫ σ.

    Args:
        x_BLD: values, in the dtype in which the statistics shall be taken.
        mask_BL: True where a position counts; None counts all.
        axes: a subset of "BLD", e.g. "D" (LayerNorm), "BL" (BatchNorm), "B" (per position), "LD" (sentence).
        total: completes a sum over the reduced axes where other processes hold a part of them.

    >>> x = torch.tensor([[[1.0, 3.0], [9.0, 9.0]]])
    >>> masked_moments(x, torch.tensor([[True, False]]), "LD").mean.item()
    2.0
    """
    if mask_BL is not None:  # before anything is squared: the gradient of a NaN that is left out later is NaN
        x_BLD = torch.where(mask_BL.unsqueeze(-1), x_BLD, 0.0)
    mean, count = masked_mean(x_BLD, mask_BL, axes, total)
    variance, _ = masked_mean((x_BLD - mean).square(), mask_BL, axes, total)
    return Moments(mean, variance, count)


def standardize(x: Tensor, mean: Tensor, variance: Tensor, eps: float) -> Tensor:
    """x̂ = (x − μ) / sqrt(σ² + eps), eps inside the root."""
    return (x - mean) * torch.rsqrt(variance + eps)


def root_mean_square(x: Tensor, eps: float) -> Tensor:
    """sqrt(mean(x²) + eps) of each token, (…, 1)."""
    return (x.square().mean(-1, keepdim=True) + eps).sqrt()


def affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """γ ⊙ x + β, leaving out what is None."""
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def _product(sizes) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
