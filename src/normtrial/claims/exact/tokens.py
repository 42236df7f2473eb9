"""What LayerNorm computes for a token: C01, C05-C08, C10-C12, C14-C16, C46.

Shapes: B examples, L positions, D model width.
"""

from typing import Any

import torch
from torch import Tensor

from normtrial.claims.exact.kit import Parts, apart, gradient, measure, norm, normal, raises
from normtrial.norms.torch_own import TorchLayerNorm, layer_norm_statistics


@measure
def layer_norm_groups() -> Parts:
    """How many means there are, and how many tokens change with one of them."""
    x_BLD, layer_norm = normal(32, 128, 512), norm("ln", 512)
    mean, _ = layer_norm_statistics(x_BLD, [512])
    moved_BLD = x_BLD.clone()
    moved_BLD[3, 5, 7] += 1.0
    changed = (layer_norm(moved_BLD) != layer_norm(x_BLD)).any(-1).sum()
    return {"pairs": mean.numel(), "tokens_changed_by_one_of_them": float(changed)}


@measure
def tuple_or_number() -> Parts:
    """Whether the two spellings differ in shape or output."""
    x_BD = normal(4, 512)
    as_tuple: Any = (512,)
    one, other = TorchLayerNorm(as_tuple).double(), TorchLayerNorm(512).double()
    return {"differ": float(one.normalized_shape != other.normalized_shape or apart(one(x_BD), other(x_BD)) > 0)}


@measure
def transposed() -> Parts:
    """Norm and then transpose, against transpose and then norm."""
    x_LBD, layer_norm = normal(7, 3, 16), norm("ln", 16)
    return {"difference": apart(layer_norm(x_LBD).transpose(0, 1), layer_norm(x_LBD.transpose(0, 1)))}


@measure
def default_shape() -> Parts:
    """Whether the shape may be left out, and what the usual argument normalizes."""
    x_BLD = normal(2, 3, 8)
    by_hand = (x_BLD - x_BLD.mean(-1, keepdim=True)) / (x_BLD.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
    return {
        "may_be_left_out": 1 - raises(lambda: TorchLayerNorm()),  # pyright: ignore[reportCallIssue]
        "difference_from_last_axis": apart(norm("ln", 8)(x_BLD), by_hand),
    }


@measure
def formula() -> Parts:
    """γ (x − μ) / sqrt(σ² + eps) + β with biased σ², against the kernel in float32."""
    x_BLD, layer_norm = normal(4, 8, 64, dtype=torch.float32), norm("ln", 64, dtype=torch.float32)
    assert layer_norm.weight is not None and layer_norm.bias is not None
    with torch.no_grad():
        layer_norm.weight.normal_(1, 0.2)
        layer_norm.bias.normal_(0, 0.2)
    x, mean = x_BLD.double(), x_BLD.double().mean(-1, keepdim=True)
    variance = (x - mean).square().mean(-1, keepdim=True)
    by_hand = layer_norm.weight.double() * (x - mean) / (variance + 1e-5).sqrt() + layer_norm.bias.double()
    return {"difference": apart(layer_norm(x_BLD), by_hand)}


@measure
def worked_example() -> Parts:
    """Means and variances of three tokens of four features."""
    x_LD = torch.arange(1.0, 13.0, dtype=torch.float64).view(3, 4)
    found = {f"mean{number}": mean for number, mean in enumerate(x_LD.mean(-1).tolist(), 1)}
    variances = x_LD.var(-1, correction=0).tolist()
    return found | {f"variance{number}": variance for number, variance in enumerate(variances, 1)}


@measure
def other_samples() -> Parts:
    """What a change in sample 1 does to the output of sample 0, and the gradient the other way."""
    x_BLD = normal(4, 5, 8)
    found: Parts = {}
    for name in ("ln", "bn"):
        layer = norm(name, 8).train()
        moved_BLD = torch.cat([x_BLD[:1], x_BLD[1:] + normal(3, 5, 8)])
        found[f"{name}_output"] = apart(layer(x_BLD)[0], layer(moved_BLD)[0])
        found[f"{name}_gradient"] = gradient(lambda x, layer=layer: layer(x)[:1], x_BLD)[1:].abs().max().item()
    return found


@measure
def followed_by_padding() -> Parts:
    """Ten tokens alone, against the same ten in front of 118 pads."""
    x_BLD, layer_norm = normal(2, 10, 16), norm("ln", 16)
    padded_BLD = torch.cat([x_BLD, torch.zeros(2, 118, 16, dtype=torch.float64)], dim=1)
    return {"difference": apart(layer_norm(x_BLD), layer_norm(padded_BLD)[:, :10])}


@measure
def radius() -> Parts:
    """Length of a normalized token of 64 features."""
    return {"radius": norm("ln", 64)(normal(1, 256, 64)).norm(dim=-1).mean().item()}


@measure
def angles() -> Parts:
    """The largest change of a cosine between two tokens, by a common offset of all features."""
    x_LD, layer_norm = normal(64, 64), norm("ln", 64)
    return {
        f"change_with_offset_{offset}": apart(cosines(x_LD + offset), cosines(layer_norm(x_LD[None] + offset)[0]))
        for offset in (0, 1, 5)
    }


def cosines(x_LD: Tensor) -> Tensor:
    """Between all pairs of tokens."""
    unit_LD = x_LD / x_LD.norm(dim=-1, keepdim=True)
    return unit_LD @ unit_LD.T


@measure
def relations() -> Parts:
    """How unequally the distances between tokens are stretched: the largest ratio over the smallest, less 1."""
    x_LD = normal(12, 16) * torch.linspace(0.5, 3.0, 12, dtype=torch.float64)[:, None]
    pairs = torch.triu(torch.ones(12, 12), 1).bool()
    found: Parts = {}
    for name, layer in (("sentence", norm("ln_seq", 16)), ("token", norm("ln", 16))):
        y_LD = layer(x_LD[None])[0]
        ratios = (torch.cdist(y_LD, y_LD) / torch.cdist(x_LD, x_LD))[pairs]
        found[name] = (ratios.max() / ratios.min() - 1).item()
    return found


@measure
def initial_affine() -> Parts:
    """γ and β of a fresh norm."""
    layer_norm = norm("ln", 32)
    assert layer_norm.weight is not None and layer_norm.bias is not None
    return {
        "gain_off_1": (layer_norm.weight - 1).abs().max().item(),
        "shift_off_0": layer_norm.bias.abs().max().item(),
        "gain_spread": layer_norm.weight.std().item(),
    }
