"""What tells a position from another: added to the token embeddings.

Shapes: L positions, D model width.
"""

import math

import torch
from torch import Tensor, nn

from normtrial.errors import ConfigError


class LearnedPositions(nn.Module):
    """One learned vector a position, up to the length of training."""

    def __init__(self, d_model: int, max_len: int):
        super().__init__()
        self.table = nn.Embedding(max_len, d_model)

    def forward(self, length: int) -> Tensor:
        """The vectors of the first `length` positions, (L, D).

        Raises:
            ConfigError: longer than in training.
        """
        if length > self.table.num_embeddings:
            raise ConfigError(
                f"learned positions end at {self.table.num_embeddings}, the input has {length} tokens; "
                "raise data.max_len, or set model.positions=sinusoidal."
            )
        return self.table.weight[:length]


class SinusoidalPositions(nn.Module):
    """PE(p, 2i) = sin(p / 10000^(2i/D)), PE(p, 2i+1) = cos(the same); no parameters, any length.

    Scaled by sqrt(2/D), so that a vector has norm 1, the expected norm of a token's embedding.
    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
    """

    def __init__(self, d_model: int, max_len: int):
        super().__init__()
        self.d_model = d_model
        self.register_buffer("table", self._table(max_len), persistent=False)

    def _table(self, length: int) -> Tensor:
        position = torch.arange(length, dtype=torch.float64)[:, None]
        frequency = torch.exp(
            torch.arange(0, self.d_model, 2, dtype=torch.float64) * (-math.log(10_000.0) / self.d_model)
        )
        angle = position * frequency
        table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, : self.d_model]
        return (table * math.sqrt(2 / self.d_model)).to(torch.get_default_dtype())

    def forward(self, length: int) -> Tensor:
        """The vectors of the first `length` positions, (L, D)."""
        if length > len(self.table):
            self.table = self._table(length).to(self.table)
        return self.table[:length]


POSITIONS: dict[str, type[nn.Module]] = {"learned": LearnedPositions, "sinusoidal": SinusoidalPositions}
