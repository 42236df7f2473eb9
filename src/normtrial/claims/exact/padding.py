"""Padding: C13, C42, C43.

Shapes: B examples, L positions, D model width.
"""

import torch

from normtrial.claims.exact.kit import Parts, apart, measure, nonfinite, norm, normal
from normtrial.network.attention import SelfAttention


@measure
def padding_in_statistics() -> Parts:
    """What 118 pads do to ten valid tokens, over the width and over the sentence."""
    x_BLD = normal(2, 10, 16)
    padded_BLD = torch.cat([x_BLD, torch.zeros(2, 118, 16, dtype=torch.float64)], dim=1)
    found: Parts = {}
    for name, where in (("ln", "token"), ("ln_seq", "sentence")):
        layer = norm(name, 16)
        found[f"{where}_change"] = apart(layer(x_BLD), layer(padded_BLD)[:, :10])
    return found | {"sentence_deviation": norm("ln_seq", 16)(padded_BLD)[:, :10].std().item()}


@measure
def filled_pads() -> Parts:
    """Deviation of valid tokens after LayerNorm over the sentence with pads filled; 1 where pads do not count."""
    found: Parts = {}
    for name, fill in (("1e4", -1e4), ("1e9", -1e9)):
        x_BLD = normal(2, 128, 16)
        x_BLD[:, 10:] = fill
        found[f"deviation_{name}"] = norm("ln_seq", 16)(x_BLD)[:, :10].std().item()
    x_BLD = normal(2, 128, 16, dtype=torch.float16)
    x_BLD[:, 10:] = torch.tensor(-1e9).to(torch.float16)
    return found | {"nonfinite_in_half": nonfinite(norm("ln_seq", 16, dtype=torch.float16)(x_BLD))}


@measure
def padded_queries() -> Parts:
    """Length of attention's output at pads over that at valid tokens, keys masked."""
    attention = SelfAttention(64, 4, dropout=0.0, causal=False).double()
    mask_BL = torch.arange(12).expand(3, 12) < 8
    length_BL = attention(normal(3, 12, 64), mask_BL).norm(dim=-1)
    return {"length_ratio": (length_BL[~mask_BL].mean() / length_BL[mask_BL].mean()).item()}
