"""Forms of LayerNorm and RMSNorm that the documents write: C03, C04, C09, C28-C32, C44.

Shapes: B examples, L positions, D model width.
"""

import torch

from normtrial.claims.exact.kit import Parts, apart, gradient, measure, nonfinite, norm, normal, raises
from normtrial.norms.torch_own import HAS_RMS_NORM, TorchLayerNorm, layer_norm_statistics


@measure
def over_length_and_width() -> Parts:
    """Statistics and gain of LayerNorm([128, 512]) on 32 samples, and what other samples do."""
    x_BLD, layer = normal(32, 128, 512), TorchLayerNorm([128, 512]).double()
    moved_BLD = torch.cat([x_BLD[:1], normal(31, 128, 512)])
    mean, _ = layer_norm_statistics(x_BLD, [128, 512])
    return {
        "pairs": mean.numel(),
        "effect_of_other_samples": apart(layer(x_BLD)[0], layer(moved_BLD)[0]),
        "gains": layer.weight.numel(),
    }


@measure
def trailing_axes() -> Parts:
    """Which shapes an input (N, C, H, W) allows; and whether a mean over axes that are apart exists."""
    x = normal(2, 3, 4, 5)
    return {
        "first_and_last_raise": raises(lambda: TorchLayerNorm([3, 5]).double()(x)),
        "last_two_raise": raises(lambda: TorchLayerNorm([4, 5]).double()(x)),
        "last_three_raise": raises(lambda: TorchLayerNorm([3, 4, 5]).double()(x)),
        "mean_over_first_and_last_raises": raises(lambda: x.mean(dim=(1, 3))),
    }


@measure
def deviation_and_eps() -> Parts:
    """The form with `x.std()` + eps over LayerNorm: outputs by width, gradient at a constant token."""
    found: Parts = {}
    for width in (4, 64, 512):
        x_BLD = normal(1, 8, width)
        ratio = norm("ln_std_eps", width)(x_BLD) / norm("ln", width)(x_BLD)
        found[f"output_ratio_{width}"] = ratio.median().item()
    almost_constant = 1.0 + 1e-9 * normal(1, 1, 64)
    sizes = [gradient(norm(name, 64), almost_constant).abs().max().item() for name in ("ln_std_eps", "ln")]
    return found | {"gradient_ratio": sizes[0] / sizes[1]}


@measure
def rms_shift_and_variance() -> Parts:
    """Whether RMSNorm has a shift, and its mean square over the variance for tokens without and with a mean."""
    x_LD = normal(256, 64)
    x_LD = x_LD - x_LD.mean(-1, keepdim=True)

    def ratio(offset: float) -> float:
        moved_LD = x_LD + offset
        return (moved_LD.square().mean(-1) / moved_LD.var(-1, correction=0)).mean().item()

    return {
        "has_shift": float(norm("rms", 8).bias is not None),
        "square_over_variance_centred": ratio(0.0),
        "square_over_variance_off_centre": ratio(1.0),
    }


@measure
def rms_of_raw_images() -> Parts:
    """Spread of a token's features after RMSNorm, by their mean and deviation; LayerNorm's is 1."""
    rms = norm("rms", 512)
    return {
        f"spread_{mean}_{deviation}": rms(mean + deviation * normal(1, 64, 512))
        .std(-1, correction=0)
        .mean()
        .item()
        for mean, deviation in ((128, 50), (128, 1))
    }


@measure
def native_rms() -> Parts:
    """Whether torch has one."""
    return {"exists": float(HAS_RMS_NORM)}


@measure
def scalar_alpha() -> Parts:
    """A gain w with a factor α, against a gain w α without: and what α does to a larger input."""
    x_BLD, layer, folded = normal(2, 3, 16), norm("ln_alpha", 16), norm("ln_alpha", 16)
    with torch.no_grad():
        layer.get_parameter("alpha").fill_(1.7)
        folded.get_parameter("weight").fill_(1.7)
    return {
        "difference_from_gain": apart(layer(x_BLD), folded(x_BLD)),
        "change_with_input_scale": apart(layer(100 * x_BLD), layer(10 * x_BLD)),
    }


@measure
def linear_of_two() -> Parts:
    """A document's norm with Linear(d, 2): gains a token, a constant token, a condition a sample."""
    layer = norm("ada_scalar", 16, faithful=True)
    x_BLD, cond_BLD = normal(3, 5, 16), normal(3, 5, 16)
    gains = layer.get_submodule("modulation")(cond_BLD).shape[-1] // 2
    constant_BLD = torch.ones_like(x_BLD)
    return {
        "raises": raises(lambda: layer(x_BLD, cond_BLD=cond_BLD)),
        "gains_a_token": float(gains),
        "nonfinite_of_a_constant_token": nonfinite(layer(constant_BLD, cond_BLD=cond_BLD)),
        "raises_for_a_condition_a_sample": raises(lambda: layer(x_BLD, cond_BLD=cond_BLD[:, 0])),
    }


@measure
def masked_over_positions() -> Parts:
    """The masked class's statistics, over positions a feature, against LayerNorm of the valid tokens."""
    x_BLD, mask_BL = normal(4, 6, 16), torch.arange(6).expand(4, 6) < 4
    y_BLD, wanted_BLD = norm("instance_mask", 16)(x_BLD, mask_BL), norm("ln", 16)(x_BLD)
    future_BLD = x_BLD.clone()
    future_BLD[:, 3] += 5.0
    moved = norm("instance_mask", 16)(future_BLD, mask_BL)
    return {
        "difference_from_layer_norm": apart(y_BLD[:, :4], wanted_BLD[:, :4]),
        "effect_of_later_tokens": apart(y_BLD[:, 0], moved[:, 0]),
    }
