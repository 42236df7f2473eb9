"""Half precision and eps: C20, C22-C27.

Shapes: B examples, L positions, D model width.
"""

import torch

from normtrial.claims.exact.kit import Parts, apart, measure, nonfinite, norm, normal
from normtrial.norms.torch_own import TorchLayerNorm, torch_layer_norm

HALF = torch.float16


@measure
def variance_below_eps() -> Parts:
    """Output variance by the input's deviation, eps = 1e-5."""
    layer_norm, x_LD = norm("ln", 512), normal(64, 512)
    return {
        f"variance_at_sd_{deviation:g}": layer_norm(deviation * x_LD[None]).var(-1, correction=0).mean().item()
        for deviation in (3e-3, 1e-3, 1.0)
    }


@measure
def smallest_halves() -> Parts:
    """The smallest positive number of float16, and the smallest with all its digits."""
    smallest = torch.tensor(1.0, dtype=HALF)
    while smallest / 2 > 0:
        smallest = smallest / 2
    return {"smallest_positive": smallest.item(), "smallest_normal": torch.finfo(HALF).tiny}


@measure
def tiny_eps() -> Parts:
    """eps = 1e-8 in float16: as a number, in arithmetic of that precision, and in torch's kernel."""
    constant = torch.ones(1, 1, 64, dtype=HALF)
    by_hand = norm("ln", 64, dtype=HALF, eps=1e-8, stats_dtype="input")
    return {
        "as_a_number": float(torch.tensor(1e-8, dtype=HALF)),
        "nonfinite_by_hand": nonfinite(by_hand(constant)),
        "nonfinite_of_the_kernel": nonfinite(norm("ln", 64, dtype=HALF, eps=1e-8)(constant)),
    }


@measure
def close_numbers() -> Parts:
    """float16 inputs between 1000 and 1001: values left behind both norms, and LayerNorm's error."""
    x_BLD = (1000 + torch.rand(1, 1, 512, dtype=torch.float64)).to(HALF)
    y_BLD, z_BLD = (norm(name, 512, dtype=HALF)(x_BLD) for name in ("ln", "rms"))
    reference = norm("ln", 512)(x_BLD.double())
    return {
        "values_of_layer_norm": float(y_BLD.unique().numel()),
        "more_values_of_rms_norm": float(z_BLD.unique().numel() - y_BLD.unique().numel()),
        "relative_error_of_layer_norm": apart(y_BLD, reference) / reference.abs().max().item(),
        "nonfinite_of_layer_norm": nonfinite(y_BLD),
    }


@measure
def squares_in_half() -> Parts:
    """Relative error of RMSNorm in half arithmetic at root mean squares of 300 and 1000."""
    found: Parts = {}
    for size in (300, 1000):
        x_BLD = (size * normal(1, 8, 64)).to(HALF)
        reference = norm("rms", 64)(x_BLD.double())
        y_BLD = norm("rms_half", 64, dtype=HALF)(x_BLD)
        found[f"relative_error_{size}"] = apart(y_BLD, reference) / reference.abs().max().item()
    return found


@measure
def two_layer_norms() -> Parts:
    """torch.layer_norm against the module of the same name."""
    found: Parts = {}
    for dtype in (torch.float32, HALF, torch.bfloat16):
        x_BLD, module = normal(2, 3, 64, dtype=dtype), TorchLayerNorm(64).to(dtype)
        function = torch_layer_norm(x_BLD, (64,), module.weight, module.bias, module.eps)
        found[str(dtype).removeprefix("torch.")] = apart(module(x_BLD), function)
    return found


@measure
def float32_inside() -> Parts:
    """Error of LayerNorm in half arithmetic over that with float32 inside, tokens of mean 100 and deviation 1."""
    x_BLD = (100 + normal(2, 32, 512)).to(HALF)
    reference = norm("ln", 512)(x_BLD.double())
    errors = [
        apart(norm("ln", 512, dtype=HALF, stats_dtype=stats)(x_BLD), reference) for stats in ("input", "fp32")
    ]
    return {"error_ratio": errors[0] / errors[1], "error_of_the_kernel": errors[1]}
