"""Norms that torch has as well give what torch's give."""

import pytest
import torch
from torch import nn

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
    ],
)
def test_equals_torch_forward_and_backward(name: str, changes: dict, twin: nn.Module) -> None:
    norm = randomize(make(name, 6, **changes))
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
