"""A module small enough to work out by hand."""

import torch
from torch import Tensor, nn


class Scale(nn.Module):
    """x · weight, or x where it has no parameters."""

    def __init__(self, values: list[float] | None = None):
        super().__init__()
        self.weight = None if values is None else nn.Parameter(torch.tensor(values))

    def forward(self, x: Tensor) -> Tensor:
        return x + 0 if self.weight is None else x * self.weight
