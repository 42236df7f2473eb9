"""PowerNorm after its warm-up, the fine of `rbn`, and the way of `repbn`.

Shapes: B examples, L positions, D model width.
"""

import pytest
import torch
from torch import Tensor

from normtrial.norms.base import Norm
from tests.network.models import lengths_mask, model, tokens
from tests.norms.draws import Draw, assert_close, draw, measured, on_the_way, randomize, referred
from tests.norms.options import make

SHAPE = (3, 4, 5)


def agree(norm: Norm, given: Draw) -> None:
    """Output, gradients and buffers are the reference's."""
    wanted, wanted_gradients, state = referred(norm, given)
    y, gradients = measured(norm, given)
    assert_close(y[given.valid_BL], wanted[given.valid_BL], 1e-12, "output")
    for key, gradient in gradients.items():
        assert_close(gradient, wanted_gradients[key], 1e-11, f"gradient of {key}")
    for key, value in state.items():
        assert_close(norm.get_buffer(key), value, 1e-11, key)


@pytest.mark.parametrize("padding", ["exclude", "include"])
@pytest.mark.parametrize("token_rms", [False, True])
def test_power_equals_loops_from_the_warm_up_into_the_time_after(token_rms: bool, padding: str) -> None:
    """From a fresh start, batch after batch: ν and ψ² carry over, and the divisor changes after two."""
    norm = make("power", 5, warmup_steps=2, token_rms=token_rms, padding=padding, momentum_backward=0.3).double()
    for seed in range(5):
        agree(norm, draw(seed, shape=SHAPE))
    assert norm.get_buffer("running_gradient").abs().min() > 0


def test_power_looks_at_no_other_token_once_warm() -> None:
    """What its forward pass promises after the warm-up: not even in training."""
    x = torch.randn(SHAPE)
    for after in (False, True):
        found = []
        for scale in (1.0, 2.0):
            norm = on_the_way(make("power", 5), after)
            found.append(norm(torch.cat((x[:1], scale * x[1:])))[0])
        assert torch.equal(*found) == after


def test_power_gradient_is_nearly_the_true_one_where_running_statistics_are_the_batchs() -> None:
    """The approximation's purpose: on one batch again and again, ν comes to mean(g ⊙ x̂) / (1 − α_b)."""
    given = draw(1, shape=SHAPE)
    power, exact = (make(name, 5).double() for name in ("power", "power_v"))
    on_the_way(power, after=True)
    for _ in range(600):
        measured(power, given)
    assert_close(measured(power, given)[1]["x"], measured(exact, given)[1]["x"], 1e-4)  # eps apart


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_b29_a_gradient_that_is_not_finite_is_not_remembered(bad: float) -> None:
    norm, given = randomize(make("power", 5)), draw(1, dtype=torch.float32, shape=SHAPE)
    before = norm.get_buffer("running_gradient").clone()
    given.upstream_BLD[0, 0, 0] = bad
    measured(norm, given)
    assert torch.equal(norm.get_buffer("running_gradient"), before)


def fine(norm: Norm, x_BLD: Tensor, mask_BL: Tensor) -> Tensor:
    """λ_mean Σ (μ_run − μ_B)² + λ_var Σ |σ²_run − σ²_B|, feature by feature."""
    total = torch.zeros((), dtype=torch.float64)
    for d in range(x_BLD.shape[-1]):
        values = [x_BLD[at][d] for at in zip(*mask_BL.nonzero().T.tolist(), strict=True)]
        mean = sum(values, start=torch.zeros(())) / len(values)
        variance = sum(((v - mean) ** 2 for v in values), start=torch.zeros(())) / (len(values) - 1)
        total = total + norm.config.lambda_mean * (norm.get_buffer("running_mean")[d].item() - mean) ** 2
        total = total + norm.config.lambda_var * (norm.get_buffer("running_var")[d].item() - variance).abs()
    return total


@pytest.mark.parametrize(("lambda_mean", "lambda_var"), [(0.1, 0.01), (60.0, 0.0), (0.0, 2.0)])
def test_fine_equals_loops_with_its_gradient(lambda_mean: float, lambda_var: float) -> None:
    for seed in range(4):
        given = draw(seed, shape=SHAPE)
        norm = randomize(make("rbn", 5, lambda_mean=lambda_mean, lambda_var=lambda_var), seed).double()
        xs = [given.x_BLD.clone().requires_grad_() for _ in range(2)]
        wanted = fine(norm, xs[0], given.valid_BL)
        norm(xs[1], given.mask_BL)
        penalty = norm.penalty()
        assert penalty is not None
        assert_close(penalty.detach(), wanted.detach(), 1e-12, "penalty")
        gradients = [torch.autograd.grad(v, x)[0] for v, x in zip((wanted, penalty), xs, strict=True)]
        assert_close(gradients[1], gradients[0], 1e-11, "gradient")


def test_evaluation_has_no_fine() -> None:
    norm, x = make("rbn", 5), torch.randn(SHAPE)
    norm(x)
    assert norm.penalty() is not None
    norm.eval()(x)
    assert norm.penalty() is None


def test_without_weights_rbn_is_bn_bit_for_bit() -> None:
    given = draw(1, dtype=torch.float32, shape=SHAPE)
    rbn = randomize(make("rbn", 5, lambda_mean=0.0, lambda_var=0.0, momentum=0.1))
    bn = randomize(make("bn", 5))
    for first, second in zip(measured(rbn, given)[1].values(), measured(bn, given)[1].values(), strict=True):
        assert torch.equal(first, second)
    assert all(map(torch.equal, rbn.buffers(), bn.buffers()))


def test_fine_of_a_network_is_the_sum_over_its_norms_and_reaches_the_weights() -> None:
    network = model("rbn", "pre")
    network(tokens(0), lengths_mask([7, 4, 2, 6], 7))
    penalty, each = network.penalty(), [norm.penalty() for norm in network.norms()]
    assert penalty is not None
    assert_close(penalty.detach(), torch.stack([p.detach() for p in each if p is not None]).sum(), 1e-6)
    penalty.backward()
    for name in ("embedding.weight", "blocks.0.attention.qkv.weight", "blocks.1.mlp.output.weight"):
        gradient = network.get_parameter(name).grad
        assert gradient is not None
        assert gradient.abs().max() > 0, name


def test_share_of_layernorm_falls_from_one_to_zero_and_stays() -> None:
    """At its ends `repbn` is LN, and BN plus η x."""
    x, norm = torch.randn(SHAPE), make("repbn", 5, decay_steps=2, eta_init=0.5)
    assert_close(norm(x), make("ln", 5)(x), 1e-6)
    norm(x)
    for _ in range(2):
        assert_close(norm(x), make("bn", 5)(x) + 0.5 * x, 1e-6)
    after = {key: norm.get_buffer(key) for key in ("running_mean", "running_var")}
    ended = make("bn", 5)
    ended.load_state_dict(after, strict=False)
    assert_close(norm.eval()(x), ended.eval()(x) + 0.5 * x, 1e-6)
