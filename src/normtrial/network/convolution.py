"""Convolution in the place of attention: neighbours are mixed by weights that do not depend on what they hold.

Shapes: B examples, L positions, D model width, S side of a square image.
"""

import math

from torch import Tensor, nn
from torch.nn import functional as F

REACH = 1  # neighbours that a filter sees on each side
MIXERS = ("attention", "conv1d", "conv2d")


class Convolution(nn.Module):
    """y[t] = Σ_k W_k x[t + k] + b over three neighbours, or over 3 × 3 where positions are the pixels of an image.

    Pads and what lies beyond the edge count as 0. All D features enter each of D. A stack of blocks with these, a
    norm and the MLP (two 1 × 1 convolutions) is a residual ConvNet: He et al. 2016, arXiv 1603.05027, where the
    norm stands in front, as in `pre`.

    Args:
        dimensions: 1, along the text; or 2, over square images, row by row.
        causal: True lets position t look at t, t - 1 and t - 2 instead of both neighbours; one dimension only.
    """

    def __init__(self, d_model: int, dropout: float, dimensions: int, causal: bool):
        super().__init__()
        assert not (causal and dimensions == 2), "an image has no order"
        self.norm_width, self.dropout, self.causal = d_model, dropout, causal
        self.filter = (nn.Conv1d if dimensions == 1 else nn.Conv2d)(d_model, d_model, 2 * REACH + 1)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Mix neighbours.

        Raises:
            ValueError: in two dimensions, where L is no square.
        """
        if mask_BL is not None:
            x_BLD = x_BLD.masked_fill(~mask_BL[..., None], 0)
        x_BDL = x_BLD.transpose(1, 2)
        if isinstance(self.filter, nn.Conv1d):
            y_BDL = self.filter(F.pad(x_BDL, (2 * REACH, 0) if self.causal else (REACH, REACH)))
        else:
            S = math.isqrt(x_BLD.shape[1])
            if x_BLD.shape[1] != S * S:
                raise ValueError(f"model.mixer=conv2d wants square images, and {x_BLD.shape[1]} is no square.")
            y_BDL = self.filter(F.pad(x_BDL.unflatten(2, (S, S)), 4 * (REACH,))).flatten(2)
        return F.dropout(y_BDL.transpose(1, 2), self.dropout, self.training)

    def branch_weights(self) -> list[Tensor]:
        """The filter, twice: it stands for the value and the output projection, which a companion scales both."""
        return [self.filter.weight, self.filter.weight]
