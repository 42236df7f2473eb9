"""The residual stream after each block.

Shapes: N valid tokens, D model width.
"""

from typing import Any

import torch
from torch import nn

from normtrial.network.blocks import Block
from normtrial.probes.activations.tokens import mask_of, stream_of, valid_tokens
from normtrial.probes.base import OutputProbe, Values


class Streams(OutputProbe):
    """Variance σ² and kurtosis mean((x − μ)⁴) / σ⁴ over features of each token, mean over valid tokens.

    Logged as `stream/<block>/variance` and `/kurtosis`. In Pre the variance grows with depth (Xiong et al. 2020,
    arXiv 2002.04745). Kurtosis is 3 for normal features, about D where one feature holds everything, and counts as
    0 for a constant token; it grows with outlier features.

    And over tokens: the largest and the (lower) median of the features' variances, `/feature_max` and
    `/feature_median`. Where all features are alike they differ by the sample of tokens only.
    """

    section = "stream"

    def place(self, module: nn.Module) -> nn.Module | None:
        """Blocks."""
        return module if isinstance(module, Block) else None

    def read(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Values:
        """Over features, and over tokens."""
        x_ND = valid_tokens(stream_of(output), mask_of(inputs))
        squares = (x_ND - x_ND.mean(-1, keepdim=True)).square()
        variance = squares.mean(-1, keepdim=True)
        scaled = squares / variance.clamp(min=torch.finfo(variance.dtype).tiny)  # before squaring: no overflow
        of_features = x_ND.var(0, correction=0)
        return {
            "variance": variance.mean(),
            "kurtosis": scaled.square().mean(),
            "feature_max": of_features.max(),
            "feature_median": of_features.median(),
        }
