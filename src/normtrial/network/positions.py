"""What tells a position from another: added to the token embeddings, or turning queries and keys.

Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import math

import torch
from torch import Tensor, nn

from normtrial.errors import ConfigError

BASE = 10_000.0  # of the wavelengths, in both papers


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
                "raise data.max_len, or set model.positions=sinusoidal or rotary."
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
            torch.arange(0, self.d_model, 2, dtype=torch.float64) * (-math.log(BASE) / self.d_model)
        )
        angle = position * frequency
        table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)[:, : self.d_model]
        return (table * math.sqrt(2 / self.d_model)).to(torch.get_default_dtype())

    def forward(self, length: int) -> Tensor:
        """The vectors of the first `length` positions, (L, D)."""
        if length > len(self.table):
            self.table = self._table(length).to(self.table)
        return self.table[:length]


class RotaryPositions(nn.Module):
    """Queries and keys turned by their position: feature pair i of a head at position m by the angle m θ_i.

    (x_2i, x_2i+1) ← (x_2i cos mθ_i − x_2i+1 sin mθ_i, x_2i sin mθ_i + x_2i+1 cos mθ_i), θ_i = 10000^(−2i/K),
    i = 0 … K/2 − 1. So q·k depends on the distance of two positions only; lengths of vectors stay. Norms on
    queries and keys come before. No parameters, any length; angles in float64, the turn in float32 or better.

    Source: Su et al. 2021 (RoFormer), arXiv 2104.09864, equation 34, with neighbouring features as pairs, as there
    (LLaMA's released code for the transformers library pairs feature i with i + K/2).
    """

    def __init__(self, head_width: int, max_len: int):
        super().__init__()
        assert head_width % 2 == 0
        self.head_width = head_width
        self.register_buffer("table", self._table(max_len), persistent=False)

    def _table(self, length: int) -> Tensor:
        """cos and sin of each position and pair, (2, L, K/2)."""
        pair = torch.arange(0, self.head_width, 2, dtype=torch.float64)
        angle = torch.arange(length, dtype=torch.float64)[:, None] * BASE ** (-pair / self.head_width)
        return torch.stack((angle.cos(), angle.sin())).to(torch.get_default_dtype())

    def forward(self, x_BHLK: Tensor) -> Tensor:
        """The vectors of positions 0 … L − 1, turned; in the input's dtype."""
        length = x_BHLK.shape[2]
        if length > self.table.shape[1]:
            self.table = self._table(length).to(self.table)
        cos, sin = self.table[:, :length]
        even, odd = x_BHLK[..., 0::2], x_BHLK[..., 1::2]  # float32 tables promote half precision
        turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
        return turned.flatten(-2).to(x_BHLK.dtype)


ADDED: dict[str, type[nn.Module]] = {"learned": LearnedPositions, "sinusoidal": SinusoidalPositions}
POSITIONS = (*ADDED, "rotary")
