"""Every norm against plain float64 loops: forward, backward, running statistics, and gradcheck."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.norms.catalogue import NORMS
from tests.norms.draws import Draw, assert_close, draw, measured, randomize, referred
from tests.norms.options import has, label, make, options, variants

# Forward and backward, relative to the largest value. float32: rounding is 6e-8, over some ten operations and a
# division by a spread that may be small. Half precision: statistics are float32, so what is left is the rounding
# of the output (half a unit in the last place: bf16 2^-9, fp16 2^-12) and, in a norm that holds a linear map, of
# that map's weights and products under autocast: twice as much; the same where every step is in half precision.
TOLERANCES = {
    torch.float64: (1e-12, 1e-11),
    torch.float32: (1e-6, 2e-6),
    torch.bfloat16: (2**-7, 2**-6),
    torch.float16: (2**-10, 2**-9),
}
EPS = (None, 1e-2)  # as shipped, and one that no tolerance hides
NUM_DRAWS = 10  # in float32; fewer where the same formula is taken in another precision


def computing(dtype: torch.dtype):
    """Half precision comes through autocast, with parameters in float32, as in a run."""
    half = dtype in (torch.bfloat16, torch.float16)
    return torch.autocast("cpu", dtype) if half else nullcontext()


def compare(name: str, given: Draw, *, training: bool, affine: bool, eps: float | None, seed: int) -> None:
    changes: dict[str, Any] = {"affine": affine} if has(name, "affine") else {}
    if eps is not None and has(name, "eps"):
        changes["eps"] = eps
    dtype = given.x_BLD.dtype
    _, L, D = given.x_BLD.shape
    norm = randomize(make(name, D, L, **changes), seed).train(training)
    norm.to(torch.promote_types(dtype, torch.float32))
    wanted, wanted_gradients, _ = referred(norm, given)
    with computing(dtype):
        y, gradients = measured(norm, given)
    forward, backward = TOLERANCES[dtype]
    if len(list(norm.modules())) > 1 or NORMS[name].half_arithmetic:
        forward, backward = 2 * forward, 2 * backward
    if NORMS[name].reduces == "B":  # two or three values, whose spread may be far below their size
        forward, backward = 10 * forward, 10 * backward
    if NORMS[name].reduces == "L":  # over two or three values, whose gradient is the rest of terms that cancel
        backward = 8 * backward
    assert y.dtype == dtype
    valid = given.valid_BL
    assert_close(y[valid], wanted[valid], forward, "output")
    assert gradients.keys() == wanted_gradients.keys()
    for key, gradient in gradients.items():
        assert_close(gradient, wanted_gradients[key], backward, f"gradient of {key}")


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("masked", [True, False], ids=["ragged", "full"])
@pytest.mark.parametrize("affine", [True, False], ids=["affine", "plain"])
@pytest.mark.parametrize("name", NORMS)
def test_equals_loops(name: str, affine: bool, masked: bool, dtype: torch.dtype, training: bool) -> None:
    for seed in range(NUM_DRAWS if dtype == torch.float32 else 4):
        given = draw(seed, masked=masked, dtype=dtype)
        compare(name, given, training=training, affine=affine, eps=EPS[seed % 2], seed=seed)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("shape", [(3, 4, 4), (4, 3, 4), (4, 4, 4)], ids=["L=D", "B=D", "B=L=D"])
@pytest.mark.parametrize("name", NORMS)
def test_equal_sizes_do_not_mix_up_axes(name: str, shape: tuple[int, int, int], training: bool) -> None:
    for seed in range(3):
        given = draw(seed, dtype=torch.float32, shape=shape)
        compare(name, given, training=training, affine=True, eps=None, seed=seed)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_every_switch_equals_loops_and_passes_gradcheck(name: str, changes: dict, training: bool) -> None:
    given = draw(3, shape=(2, 3, 3))
    norm = randomize(make(name, 3, 3, **changes)).double().train(training)
    wanted, wanted_gradients, state = referred(norm, given)

    before = {key: buffer.clone() for key, buffer in norm.named_buffers()}

    def valid_outputs(x_BLD: Tensor, cond_BLD: Tensor, *_: Tensor) -> Tensor:
        for key, buffer in norm.named_buffers():
            if not torch.equal(buffer, before[key]):  # a formula may depend on the number of the batch
                buffer.copy_(before[key])
        return norm(x_BLD, given.mask_BL, cond_BLD)[given.valid_BL]

    y, gradients = measured(norm, given)
    assert_close(y[given.valid_BL], wanted[given.valid_BL], 1e-12, "output")
    for key, gradient in gradients.items():
        assert_close(gradient, wanted_gradients[key], 1e-11, f"gradient of {key}")
    for key, value in state.items():
        assert_close(norm.get_buffer(key), value, 1e-12, key)
    if not NORMS[name].exact_backward:
        return
    inputs = (given.x_BLD.requires_grad_(), given.cond_BLD.requires_grad_(), *norm.parameters())
    assert torch.autograd.gradcheck(valid_outputs, inputs)


@pytest.mark.parametrize("name", NORMS)
def test_statistics_after_ragged_batches(name: str) -> None:
    """Over batches whose numbers of valid tokens differ; each weighs the same, as with torch's BatchNorm."""
    norm = make(name, 5, 6)
    has_state = NORMS[name].has_running_statistics(options(name))
    assert has_state == bool(list(norm.buffers()))
    for seed in range(NUM_DRAWS):
        given = draw(seed, dtype=torch.float32, shape=(3, 2 + seed % 5, 5))
        _, _, state = referred(norm, given)
        measured(norm, given)
        for key, value in state.items():
            assert_close(norm.get_buffer(key), value, 1e-6, f"{key} after batch {seed}")
        if has_state:
            assert norm.get_buffer("num_batches_tracked") == seed + 1


@pytest.mark.parametrize("name", NORMS)
def test_evaluation_leaves_every_buffer_alone(name: str) -> None:
    norm = randomize(make(name, 4, 3)).eval()
    before = {key: buffer.clone() for key, buffer in norm.named_buffers()}
    given = draw(0, dtype=torch.float32, shape=(2, 3, 4))
    norm(given.x_BLD, given.mask_BL, given.cond_BLD)
    assert all(torch.equal(buffer, before[key]) for key, buffer in norm.named_buffers())
