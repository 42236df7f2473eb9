"""Hand-fused passes where torch has only a chain of simple ones on a CPU.

Shapes: B examples, L positions, D model width.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


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
            dx_BLD += h_BL.unsqueeze(-1) * r_BL1  # a pass of `addcmul`, which repeats both, takes ten times as long
        return (dx_BLD if wanted else None), dweight_D, None
