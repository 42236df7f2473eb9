"""Norms that torch has as well give what torch's give."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from normtrial.errors import ConfigError
from tests.norms.draws import assert_close, draw, randomize
from tests.norms.options import make


def test_bn_is_batchnorm1d_of_the_concatenated_valid_tokens() -> None:
    for affine in (True, False):
        norm = randomize(make("bn", 5, affine=affine, momentum=0.3, eps=1e-3))
        twin = nn.BatchNorm1d(5, eps=1e-3, momentum=0.3, affine=affine)
        twin.load_state_dict(norm.state_dict())
        for seed in range(6):
            given = draw(seed, dtype=torch.float32, shape=(3, 2 + seed, 5))
            x, x_twin = (given.x_BLD.clone().requires_grad_() for _ in range(2))
            y, y_twin = norm(x, given.mask_BL)[given.valid_BL], twin(x_twin[given.valid_BL])
            assert_close(y, y_twin, 1e-6, "output")
            upstream = given.upstream_BLD[given.valid_BL]
            gradient, gradient_twin = (
                torch.autograd.grad(y, x, upstream),
                torch.autograd.grad(y_twin, x_twin, upstream),
            )
            assert_close(gradient[0], gradient_twin[0], 1e-6, "gradient")
            for key, buffer in twin.named_buffers():
                assert_close(norm.get_buffer(key), buffer, 1e-6, key)
        norm.eval()
        twin.eval()
        given = draw(9, dtype=torch.float32, shape=(3, 4, 5))
        assert_close(norm(given.x_BLD, given.mask_BL), twin(given.x_BLD.flatten(0, 1)).view(3, -1, 5), 1e-6)


@pytest.mark.parametrize(
    ("stats_dtype", "dtype"), [("fp32", torch.float32), ("fp32", torch.bfloat16), ("input", torch.bfloat16)]
)
def test_momentum_is_the_share_of_the_new_batch_and_the_running_variance_unbiased(
    stats_dtype: str, dtype: torch.dtype
) -> None:
    norm = make("bn", 1, momentum=0.25, stats_dtype=stats_dtype)
    x_BLD = torch.tensor([[[1.0], [3.0]], [[5.0], [99.0]]], dtype=dtype)
    norm(x_BLD, torch.tensor([[True, True], [True, False]]))
    assert norm.get_buffer("running_mean").item() == pytest.approx(0.75 * 0 + 0.25 * 3)
    assert norm.get_buffer("running_var").item() == pytest.approx(0.75 * 1 + 0.25 * 4)  # 8 / (3 − 1), not 8 / 3


@pytest.mark.parametrize(
    ("name", "changes", "twin"),
    [
        ("ln", {"eps": 1e-3}, nn.LayerNorm(6, eps=1e-3)),
        ("ln", {"affine": False}, nn.LayerNorm(6, elementwise_affine=False)),
        ("ln", {"bias": False}, nn.LayerNorm(6, bias=False)),
        ("rms", {"eps": 1e-3}, nn.RMSNorm(6, eps=1e-3)),
        ("rms", {"affine": False}, nn.RMSNorm(6, eps=1e-6, elementwise_affine=False)),
        ("ln_seq", {"affine_shape": "full", "eps": 1e-3}, nn.LayerNorm([4, 6], eps=1e-3)),
        ("ln_seq", {"affine": False}, nn.LayerNorm([4, 6], elementwise_affine=False)),
    ],
)
def test_equals_torch_forward_and_backward(name: str, changes: dict, twin: nn.Module) -> None:
    norm = randomize(make(name, 6, 4, **changes))
    twin.load_state_dict(norm.state_dict())
    for seed in range(5):
        given = draw(seed, dtype=torch.float32, shape=(3, 4, 6))
        results = []
        for module, arguments in ((norm, (given.mask_BL,)), (twin, ())):
            x = given.x_BLD.clone().requires_grad_()
            y = module(x, *arguments)
            results.append((y, *torch.autograd.grad(y, (x, *module.parameters()), given.upstream_BLD)))
        for ours, theirs in zip(*results, strict=True):
            assert_close(ours, theirs, 2e-6)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("ln_std_eps", lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)),
        ("ln_alpha", lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()),
        ("rms_eps_out", lambda x: x / (x.norm(dim=-1, keepdim=True) / 6**0.5 + 1e-8)),
        ("scale", lambda x: 6**0.5 * nn.functional.normalize(x, dim=-1)),
        ("dyt", lambda x: torch.tanh(0.5 * x)),
        ("derf", lambda x: torch.erf(0.5 * x)),
    ],
)
def test_equals_the_line_of_its_source(name: str, formula: Callable[[Tensor], Tensor]) -> None:
    x_BLD = draw(0, dtype=torch.float32, shape=(3, 4, 6)).x_BLD
    assert_close(make(name, 6)(x_BLD), formula(x_BLD), 1e-6)


def test_a_gain_a_position_takes_one_length() -> None:
    norm = make("ln_seq", 6, 4, affine_shape="full")
    assert {tuple(p.shape) for p in norm.parameters()} == {(4, 6)}
    with pytest.raises(ConfigError, match=r"a gain for each of 4 positions, and the input has 3\. Set .*=shared"):
        norm(torch.randn(2, 3, 6))


def test_padding_inflates_a_sentence_norm() -> None:
    """C13: with 10 real and 118 padded tokens valid ones come out with a spread of some 3.6 instead of 1."""
    x_BLD = torch.zeros(1, 128, 64)
    x_BLD[:, :10] = torch.randn(10, 64, generator=torch.Generator().manual_seed(0))
    mask_BL = torch.arange(128)[None, :] < 10
    spread = {n: make(n, 64)(x_BLD, mask_BL)[mask_BL].std().item() for n in ("ln", "ln_seq", "ln_seq_mask")}
    assert spread["ln_seq"] == pytest.approx(3.58, rel=0.02)
    assert spread["ln"] == pytest.approx(1, abs=0.01)
    assert spread["ln_seq_mask"] == pytest.approx(1, abs=0.01)
