"""Masked moments and what is done with them: every norm goes through here or through torch's own fused op.

Shapes: B examples, L positions, D model width; N valid tokens.
"""

from typing import NamedTuple

import torch
from torch import Tensor

AXES = "BLD"


class Moments(NamedTuple):
    """Mean, biased variance and number of values over the reduced axes, which are kept with size one."""

    mean: Tensor
    variance: Tensor
    num: Tensor


def statistics_dtype(x: Tensor) -> torch.dtype:
    """float32 for half precision, the input's own dtype otherwise: statistics are never taken in less."""
    return torch.promote_types(x.dtype, torch.float32)


def masked_mean(x_BLD: Tensor, mask_BL: Tensor | None, axes: str) -> tuple[Tensor, Tensor]:
    """Mean over the named axes, counting valid positions only; and the number of values counted.

    Masked by selection, never by multiplication, so NaN in a padded position stays there.
    An empty selection has mean 0 and count 0.
    """
    dims = [AXES.index(axis) for axis in axes]
    if mask_BL is None:
        count = torch.tensor(float(_product(x_BLD.shape[d] for d in dims)), dtype=x_BLD.dtype)
        return x_BLD.mean(dims, keepdim=True), count.to(x_BLD.device)
    valid = mask_BL.unsqueeze(-1)
    count = valid.expand_as(x_BLD).sum(dims, keepdim=True).to(x_BLD.dtype)
    total = torch.where(valid, x_BLD, 0.0).sum(dims, keepdim=True)
    return total / count.clamp(min=1), count


def masked_moments(x_BLD: Tensor, mask_BL: Tensor | None, axes: str) -> Moments:
    """Mean and biased variance over the named axes, valid positions only.

    μ = Σ x / n,  σ² = Σ (x − μ)² / n, in two passes: the one-pass E[x²] − μ² loses every digit where |μ| ≫ σ.

    Args:
        x_BLD: values, in the dtype in which the statistics shall be taken.
        mask_BL: True where a position counts; None counts all.
        axes: a subset of "BLD", e.g. "D" (LayerNorm), "BL" (BatchNorm), "B" (per position), "LD" (sentence).

    >>> x = torch.tensor([[[1.0, 3.0], [9.0, 9.0]]])
    >>> masked_moments(x, torch.tensor([[True, False]]), "LD").mean.item()
    2.0
    """
    if mask_BL is not None:  # before the square: selecting afterwards gives NaN in a pad the gradient 0 · NaN
        x_BLD = torch.where(mask_BL.unsqueeze(-1), x_BLD, 0.0)
    mean, count = masked_mean(x_BLD, mask_BL, axes)
    variance, _ = masked_mean((x_BLD - mean).square(), mask_BL, axes)
    return Moments(mean, variance, count)


def standardize(x: Tensor, mean: Tensor, variance: Tensor, eps: float) -> Tensor:
    """x̂ = (x − μ) / sqrt(σ² + eps), eps inside the root."""
    return (x - mean) * torch.rsqrt(variance + eps)


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
