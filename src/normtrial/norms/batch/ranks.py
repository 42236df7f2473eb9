"""Sums over the processes of a distributed run, exact in value and gradient; a single process sums itself.

Every rank must call these as often as the others do: a rank that stays away leaves the rest waiting.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.autograd.function import once_differentiable


def several_ranks() -> bool:
    """True in a distributed run of more than one process."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def sum_over_ranks(values: Tensor) -> Tensor:
    """Σ over the ranks, on every rank; the gradient is a Σ too, for every rank's loss depends on the sum."""
    return _Sum.apply(values) if several_ranks() else values


def max_over_ranks(value: int, device: torch.device) -> int:
    """The largest of the ranks' numbers, on every rank."""
    if not several_ranks():
        return value
    found = torch.tensor(value, device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Tensor:  # type: ignore[override]
        total = grad.clone()
        dist.all_reduce(total)
        return total
