"""Norms within a block and a stack: C45, C47, C50-C52, L01.

Shapes: B examples, L positions, D model width, K head width.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor

from normtrial.claims.exact.kit import Parts, apart, measure, norm, normal
from normtrial.config.shipped import shipped
from normtrial.network.attention import SelfAttention
from normtrial.network.model import ModelConfig
from normtrial.placements.base import Function, PlacementConfig, Sublayers
from normtrial.placements.residual import Post, Pre
from normtrial.probes.depth import at_init, exponent

SMALL = ModelConfig(
    num_layers=1,  # replaced by each depth
    d_model=64,
    num_heads=4,
    d_ff=256,
    dropout=0.0,
    activation="gelu",
    positions="learned",
    tie=True,
    qk_norm="none",
    mixer="attention",
    dropout_on="branches",
    embed_norm=False,
    checkpoint_activations=False,
)


@measure
def compiled_branch() -> Parts:
    """A compiled function that branches on `mask is None`, called with and without, against the plain one."""

    def branching(x_BLD: Tensor, mask_BL: Tensor | None) -> Tensor:
        if mask_BL is None:
            return x_BLD.mean(1)
        weight_BL1 = mask_BL.unsqueeze(-1).to(x_BLD.dtype)
        return (x_BLD * weight_BL1).sum(1) / weight_BL1.sum(1)

    torch.compiler.reset()
    compiled, worst = torch.compile(branching, backend="eager"), 0.0
    for length, masked in ((6, False), (6, True), (6, False), (9, True), (9, False)):
        x_BLD, mask_BL = normal(2, length, 4), torch.arange(length).expand(2, length) < 4
        arguments = (x_BLD, mask_BL if masked else None)
        worst = max(worst, apart(compiled(*arguments), branching(*arguments)))
    torch.compiler.reset()
    return {"difference": worst}


@measure
def folded_affine() -> Parts:
    """A linear map behind LayerNorm's γ and β, against one that has taken them in; then the stream in Post."""
    x_BLD, weight_DD, bias_D = normal(2, 5, 16), normal(16, 16), normal(16)
    gain_D, shift_D, plain = 1 + 0.5 * normal(16), normal(16), norm("ln", 16, affine=False, bias=False)
    with_affine = (plain(x_BLD) * gain_D + shift_D) @ weight_DD + bias_D
    folded = plain(x_BLD) @ (gain_D[:, None] * weight_DD) + (shift_D @ weight_DD + bias_D)
    stream, taken_in = plain(x_BLD) * gain_D + shift_D, plain(x_BLD)  # what Post adds the next branch to
    return {"pre_difference": apart(with_affine, folded), "post_difference": apart(stream, taken_in)}


@measure
def squeezed_scores() -> Parts:
    """Variance behind LayerNorm; entropy of attention, relative to uniform, at inputs of variance 1 and 0.01."""
    x_LD = norm("ln", 64)(normal(1, 32, 64))[0]
    query_DK, key_DK = (normal(64, 64) / 8 for _ in range(2))

    def entropy(y_LD: Tensor) -> float:
        scores_LL = (y_LD @ query_DK) @ (y_LD @ key_DK).T / math.sqrt(64)
        p_LL = scores_LL.softmax(-1)
        return (-(p_LL * p_LL.log()).sum(-1).mean() / math.log(32)).item()

    return {
        "variance": x_LD.var(-1, correction=0).mean().item(),
        "entropy_at_variance_1": entropy(x_LD),
        "entropy_at_variance_0.01": entropy(0.1 * x_LD),
    }


@measure
def permuted_tokens() -> Parts:
    """Attention of permuted tokens against permuted attention."""
    attention, x_BLD = SelfAttention(32, 4, dropout=0.0, causal=False).double(), normal(2, 9, 32)
    order = torch.randperm(9)
    return {"difference": apart(attention(x_BLD[:, order]), attention(x_BLD)[:, order])}


@measure
def names_of_placements() -> Parts:
    """The original Transformer's block LN(x + f(x)) against Pre; and code that is called Post-LN against Pre."""
    x_BLD, one, other = normal(2, 5, 16), normal(16, 16) / 4, normal(16, 16) / 4
    layer_norm = norm("ln", 16)
    parts: dict[str, Function] = {"norm1": layer_norm, "norm2": layer_norm}
    f = Sublayers(lambda x: torch.tanh(x @ one), lambda x: torch.tanh(x @ other), parts)
    pre, post = (cls(PlacementConfig(name=""), 0, 1)(x_BLD, f) for cls in (Pre, Post))
    middle = layer_norm(x_BLD + f.attention(x_BLD))
    original = layer_norm(middle + f.mlp(middle))
    middle = x_BLD + f.attention(layer_norm(x_BLD))
    called_post = middle + f.mlp(layer_norm(middle))
    return {
        "pre_from_original": apart(pre, original),
        "post_from_original": apart(post, original),
        "code_called_post_from_pre": apart(called_post, pre),
    }


@measure
def gradient_by_depth() -> Parts:
    """Exponent of the last MLP's gradient in the number of layers, at initialization, mean over seeds."""
    found, depths = Parts(), (4, 8, 16, 32)
    for name in ("post", "pre"):
        placement = PlacementConfig(name=name)
        rows = [at_init(replace(SMALL, num_layers=d), shipped("ln"), placement, range(8)) for d in depths]
        found[f"{name}_exponent"] = exponent(depths, [row.gradient_last for row in rows])
    return found
