"""What hand-written forms get wrong, each as its docstring says; and the right form beside it.

Shapes: B examples, L positions, D model width.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.errors import ConfigError
from normtrial.norms.catalogue import NORMS
from normtrial.probes.nonfinite import Watch
from tests.network.models import disturb, model, tokens
from tests.norms.draws import randomize
from tests.norms.options import has, label, make, variants

D = 8
UNBIASED = [("ln_std_eps", {}), ("ln_alpha", {}), ("ada_scalar", {"faithful": True})]


def steepest(name: str, value: float, dtype: torch.dtype = torch.float32, **changes) -> float:
    """The largest derivative of a value at a constant token."""
    x_BLD = torch.full((1, 1, D), value, dtype=dtype, requires_grad=True)
    y_BLD = make(name, D, **changes)(x_BLD, cond_BLD=x_BLD.detach())
    (gradient,) = torch.autograd.grad(y_BLD[0, 0, 0], x_BLD)
    return gradient.abs().max().item()


@pytest.mark.parametrize(("name", "changes"), UNBIASED, ids=label)
def test_one_feature_is_refused_where_the_variance_is_unbiased(name: str, changes: dict) -> None:
    """C09: 0 / 0."""
    with pytest.raises(ConfigError, match=f"norm={name} divides by the unbiased variance .* choose norm=ln"):
        make(name, 1, **changes)


@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_one_feature_is_refused_or_finite(name: str, changes: dict) -> None:
    x_BLD = torch.randn(2, 3, 1, generator=torch.Generator().manual_seed(0))
    if (name, changes) in UNBIASED or name in ("ln_std_eps", "ln_alpha"):
        with pytest.raises(ConfigError):
            make(name, 1, **changes)
    else:
        assert make(name, 1, 3, **changes)(x_BLD, cond_BLD=x_BLD).isfinite().all()


@pytest.mark.parametrize(("width", "factor"), [(4, 0.866), (64, 0.9922), (512, 0.9990)])
def test_unbiased_deviation_shrinks_the_output(width: int, factor: float) -> None:
    """C09."""
    x_BLD = torch.randn(2, 3, width, generator=torch.Generator().manual_seed(0))
    ratio = make("ln_std_eps", width)(x_BLD) / make("ln", width)(x_BLD)
    assert ratio.median().item() == pytest.approx(factor, abs=5e-4)
    assert (make("ln_std_eps_biased", width)(x_BLD) - make("ln", width)(x_BLD)).abs().max() < 1e-4


def test_eps_outside_the_root_is_steeper() -> None:
    """B11, C09: 1 / eps instead of 1 / sqrt(eps); (1 − 1/D) of it is what centring leaves."""
    left = 1 - 1 / D
    assert steepest("ln", 7.0, eps=1e-5) == pytest.approx(left / math.sqrt(1e-5), rel=1e-3)
    for name in ("ln_std_eps", "ln_std_eps_biased"):
        assert steepest(name, 7.0, eps=1e-5) == pytest.approx(left / 1e-5, rel=1e-3)
    assert steepest("rms", 0.0, eps=1e-8) == pytest.approx(1e4, rel=1e-3)
    assert steepest("rms_eps_out", 0.0) == pytest.approx(1e8, rel=1e-3)
    assert steepest("scale", 0.0) == pytest.approx(math.sqrt(D) * 1e5, rel=1e-3)


def test_eps_outside_the_root_is_more_than_float16_can_hold() -> None:
    """B11, C09: infinite, while LayerNorm's gradient there is a number."""
    assert math.isinf(steepest("ln_std_eps", 7.0, torch.float16))
    assert math.isinf(steepest("rms_eps_out", 0.0, torch.float16))
    assert steepest("ln", 7.0, torch.float16) < 400
    assert steepest("rms", 0.0, torch.float16) < 1100


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_zero_token_with_eps_outside_in_the_precision_of_the_input(dtype: torch.dtype) -> None:
    """C23: 1e-8 is 0 in float16, and 0 / 0 not a number; bfloat16 has small numbers."""
    zeros_BLD = torch.zeros(1, 1, D, dtype=dtype)
    assert (make("rms_eps_out", D)(zeros_BLD) == 0).all()
    given = make("rms_eps_out", D, stats_dtype="input").to(dtype)(zeros_BLD)
    assert given.isnan().all() if dtype == torch.float16 else (given == 0).all()


def half(scale: float, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """`rms_half` and `rms` of a float16 token of that root mean square."""
    x_BLD = torch.full((1, 1, D), scale, dtype=torch.float16)
    return make("rms_half", D, eps=eps)(x_BLD), make("rms", D, eps=eps)(x_BLD)


def test_squares_overflow_in_half_precision() -> None:
    """B07, C25: silently 0 from a root mean square of 256 on; right in float32."""
    for scale in (256.0, 300.0, 1000.0):
        wrong, right = half(scale)
        assert (wrong == 0).all()
        assert (right == 1).all()
    assert (half(255.0)[0] - 1).abs().max() < 2e-3


@pytest.mark.parametrize("eps", [1e-12, 1e-8])
def test_eps_is_lost_in_half_precision(eps: float) -> None:
    """B01, C23: rounded to 0, a zero token is 0 · inf; with statistics in float32 it is 0."""
    wrong, right = half(0.0, eps)
    assert wrong.isnan().all()
    assert (right == 0).all()


def test_half_arithmetic_is_that_of_autocast_where_it_is_on() -> None:
    """B07: a residual stream stays in float32 there, and the norm would never see half precision."""
    x_BLD = 3 + torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(0))
    wrong, right = make("rms_half", 64), make("rms", 64)
    exact_BLD = right(x_BLD)
    assert torch.equal(wrong(x_BLD), exact_BLD)
    with torch.autocast("cpu", torch.bfloat16):
        assert wrong(x_BLD).dtype == torch.float32
        assert (wrong(x_BLD) - exact_BLD).abs().max() > 1e-3
        assert torch.equal(right(x_BLD), exact_BLD)


@pytest.mark.parametrize("name", NORMS)
def test_half_precision_is_near_float64(name: str) -> None:
    """B05, C24, C27: what is lost is the rounding of the output; in half arithmetic some times that."""
    x_BLD = 0.1 * torch.rand(1, 5, 128, generator=torch.Generator().manual_seed(0)).bfloat16()
    norm, exact = (randomize(make(name, 128, 5)).eval() for _ in range(2))
    with torch.autocast("cpu", torch.bfloat16):
        given = norm(x_BLD, cond_BLD=x_BLD)
    wanted = exact.double()(x_BLD.double(), cond_BLD=x_BLD.double())
    error = ((given - wanted).abs().max() / wanted.abs().max()).item()
    assert error < (2**-6 if NORMS[name].half_arithmetic or len(list(norm.modules())) > 1 else 2**-8)


def test_small_bfloat16_tokens_are_not_off_by_an_eps_of_the_dtype() -> None:
    """B09, C30: sd 0.058 is half lost with bfloat16's 7.8e-3 for eps, which the default of a None once was."""
    x_BLD = (0.058 * torch.randn(2, 4, 32, generator=torch.Generator().manual_seed(0))).bfloat16()
    for name in ("rms", "rms_bias", "rms_eps_out", "ada_rms", "scale"):
        y_BLD = make(name, 32)(x_BLD, cond_BLD=torch.zeros_like(x_BLD, dtype=torch.float32))
        assert y_BLD.float().square().mean(-1).sub(1).abs().max() < 0.02
        assert make(name, 32).config.eps is not None


def test_document_adanorm_has_no_eps_and_starts_near_zero() -> None:
    """C32: not a number at a constant token; the fixed form is a LayerNorm at first."""
    constant_BLD, x_BLD = torch.full((1, 1, D), 7.0), torch.randn(4, 5, D)
    document, fixed = make("ada_scalar", D, faithful=True), make("ada_scalar", D)
    assert document(constant_BLD, cond_BLD=x_BLD[:1, :1]).isnan().all()
    assert (fixed(constant_BLD, cond_BLD=constant_BLD) == 0).all()
    assert torch.equal(fixed(x_BLD, cond_BLD=x_BLD), make("ln", D)(x_BLD))
    assert 0 < document.get_parameter("modulation.weight").detach().abs().max() <= 1 / math.sqrt(D)


def test_document_adanorm_starts_from_the_seed_and_its_site() -> None:
    """Paired seeds: the same numbers for a seed, others for another seed or site."""
    networks = [model("ada_scalar", "pre", norm__faithful=True, seed=seed) for seed in (0, 0, 1)]
    weights = [[next(norm.parameters()) for norm in network.norms()] for network in networks]
    assert all(map(torch.equal, weights[0], weights[1]))
    assert not any(map(torch.equal, weights[0], weights[2]))
    assert not torch.equal(weights[0][0], weights[0][1])


def test_alpha_is_a_second_name_for_the_gain() -> None:
    """C31: w α acts, and neither of the two by itself."""
    x_BLD, upstream_BLD = torch.randn(2, 2, 3, D, generator=torch.Generator().manual_seed(0)).unbind(0)
    norms = [make("ln_alpha", D) for _ in range(2)]
    with torch.no_grad():
        norms[0].get_parameter("weight").mul_(3)
        norms[1].get_parameter("alpha").mul_(3)
    x, z = (x_BLD.clone().requires_grad_() for _ in range(2))
    y = [norm(t) for norm, t in zip(norms, (x, z), strict=True)]
    assert (y[0] - y[1]).abs().max() < 1e-6
    one, other = (torch.autograd.grad(y[i], t, upstream_BLD)[0] for i, t in enumerate((x, z)))
    assert (one - other).abs().max() < 1e-6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", NORMS)
def test_zero_tokens_pass_a_whole_model_in_half_precision(name: str, dtype: torch.dtype) -> None:
    """B03: with an eps of 1e-12, which half precision rounds to 0 where every step is taken in it."""
    changes: dict[str, Any] = {"norm__eps": 1e-12} if has(name, "eps") else {}
    network = model(name, "pre", **changes)
    for parameter in network.parameters():
        if parameter.ndim > 1:
            parameter.data.zero_()
    with torch.autocast("cpu", dtype):
        logits_BC = network(tokens(0))
    assert logits_BC.isfinite().all() or NORMS[name].half_arithmetic


def test_overflowing_stream_names_its_site() -> None:
    """B13: in float16 a residual of 1.2e5 is inf, and the event names where it came up."""
    network = disturb(model("rms", "pre")).half().eval()
    with torch.no_grad():
        for sublayer in ("mlp", "attention"):
            network.blocks[1].get_parameter(f"{sublayer}.output.bias").fill_(6e4)
    with Watch(network, network.sites()) as watch:
        loss = network(tokens(0)).sum()
    found = watch.origin(loss, [])
    assert (found["site"], found["op"], found["pass"]) == ("blocks.1.placement", "add", "forward")
    assert (found["dtype"], found["input"]["max_abs"]) == ("float16", 6e4)
