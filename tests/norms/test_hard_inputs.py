"""Inputs that norms are known to fail on; the ids are those of public reports, whose right behaviour is asserted.

Shapes: B examples, L positions, D model width.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from normtrial.norms.catalogue import NORMS
from tests.norms.draws import Draw, assert_close, draw, measured, randomize, referred
from tests.norms.options import counts_padding, has, make, options

SHAPE = (3, 4, 8)
HALF = (torch.float16, torch.bfloat16)
TOKENS_FIRST = ("bn_token_rms",)  # divide each token by its own size before the batch is looked at
EVERY = pytest.mark.parametrize("name", NORMS)
BOTH_MODES = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])


def signs(x: Tensor) -> Tensor:
    return torch.where(x > 0, 1000.0, -1000.0)


# What is put in the place of a draw's x, and how near the float64 loops the output must come. The loops start
# from the same float32 numbers, so what differs is the arithmetic only: the mean is rounded. That of many sevens
# by 2.4e-7, which a division by sqrt(eps) makes 8e-5; one of 3000 by 1.2e-4, which is 2.4e-3 spreads of 0.05.
HARD: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "zero": (torch.zeros_like, 1e-6),
    "constant": (lambda x: torch.full_like(x, 7.0), 3e-4),
    "one constant token": (lambda x: torch.cat((torch.full_like(x[:, :1], 3.0), x[:, 1:]), 1), 1e-6),
    "plus and minus 1000": (signs, 1e-6),
    "scaled by 1e-4": (lambda x: 1e-4 * x, 1e-6),
    "mean 3000, spread 0.05": (lambda x: 3000 + 0.05 * x, 1e-2),
}


def build(name: str, training: bool, **changes):
    return randomize(make(name, SHAPE[2], SHAPE[1], **changes)).train(training)


def hard(kind: str, dtype: torch.dtype = torch.float32) -> Draw:
    given = draw(1, dtype=torch.float32, shape=SHAPE)
    given.x_BLD = HARD[kind][0](torch.randn(SHAPE, generator=torch.Generator().manual_seed(1))).to(dtype)
    given.cond_BLD, given.upstream_BLD = given.cond_BLD.to(dtype), given.upstream_BLD.to(dtype)
    return given


@BOTH_MODES
@pytest.mark.parametrize("kind", HARD)
@EVERY
def test_hard_values_equal_loops(name: str, kind: str, training: bool) -> None:
    """B01, B11, B15: forward within the stated distance, backward finite."""
    norm, given = build(name, training), hard(kind)
    wanted, _, _ = referred(norm, given)
    y, gradients = measured(norm, given)
    assert_close(y[given.valid_BL], wanted[given.valid_BL], HARD[kind][1], kind)
    for key, gradient in gradients.items():
        assert gradient.isfinite().all(), f"gradient of {key}"


@BOTH_MODES
@pytest.mark.parametrize("eps", [1e-12, 1e-8, 1e-5])
@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("kind", ["zero", "constant", "plus and minus 1000"])
@EVERY
def test_half_precision_stays_finite(name: str, kind: str, dtype: torch.dtype, eps: float, training: bool) -> None:
    """B01, B03: an eps that half precision would round to 0 still counts, for statistics are float32.

    B11: where the gradient may pass 65504, float16's largest, it is inf and never NaN.
    """
    if NORMS[name].half_arithmetic:
        pytest.skip("is made to fail here: see test_faithful.py")
    norm, given = build(name, training, **({"eps": eps} if has(name, "eps") else {})), hard(kind, dtype)
    with torch.autocast("cpu", dtype):
        y, gradients = measured(norm, given)
    assert y.dtype == dtype
    assert y.isfinite().all()
    outside = NORMS[name].eps_outside or name in TOKENS_FIRST
    steepest = 30 / eps if outside else 30 * eps**-0.5  # γ and the gradient from above included
    for gradient in gradients.values():
        assert name in TOKENS_FIRST or not gradient.isnan().any()
        assert gradient.isfinite().all() or steepest > torch.finfo(dtype).max


@BOTH_MODES
@pytest.mark.parametrize("rubbish", [float("nan"), float("inf"), -1e30])
@EVERY
def test_rubbish_in_pads_stays_there(name: str, rubbish: float, training: bool) -> None:
    """B25: masked by selection, for 0 · NaN is NaN."""
    if counts_padding(options(name)):
        pytest.skip("padding is counted: test_reduces.py shows it")
    given = draw(1, dtype=torch.float32, shape=SHAPE)
    norms = [build(name, training) for _ in range(2)]
    clean = measured(norms[0], given)
    given.x_BLD = given.x_BLD.masked_fill(~given.valid_BL[..., None], rubbish)
    dirty = measured(norms[1], given)
    valid = given.valid_BL
    assert torch.equal(clean[0][valid], dirty[0][valid])
    assert torch.equal(clean[1]["x"][valid], dirty[1]["x"][valid])
    assert all(map(torch.equal, norms[0].buffers(), norms[1].buffers()))


@BOTH_MODES
@EVERY
def test_row_of_pads_changes_nothing(name: str, training: bool) -> None:
    """B23: an example without a valid token is as if it were not there."""
    given = draw(1, dtype=torch.float32, shape=SHAPE)
    assert given.mask_BL is not None
    given.mask_BL[1], given.upstream_BLD[1] = False, 0
    rows = torch.tensor([0, 2])
    without = Draw(*(t[rows] for t in (given.x_BLD, given.mask_BL, given.cond_BLD, given.upstream_BLD)))
    y, gradients = measured(build(name, training), given)
    y_without, gradients_without = measured(build(name, training), without)
    assert y.isfinite().all()
    assert_close(y[rows][without.valid_BL], y_without[without.valid_BL], 1e-6)
    assert_close(gradients.pop("x")[rows], gradients_without.pop("x"), 1e-6)
    assert_close(gradients.pop("cond")[rows], gradients_without.pop("cond"), 1e-6)
    for key, gradient in gradients.items():
        assert_close(gradient, gradients_without[key], 1e-6, key)


@BOTH_MODES
@EVERY
def test_one_valid_token(name: str, training: bool) -> None:
    """B27: a variance over one token says nothing, and never is the norm left out instead."""
    norm, given = build(name, training), draw(0, dtype=torch.float32, shape=SHAPE)
    given.mask_BL = torch.zeros(SHAPE[:2], dtype=torch.bool)
    given.mask_BL[1, 2] = True
    if training and NORMS[name].mixes_examples(norm.config):
        with pytest.raises(ValueError, match=r"at least 2 .* got 1; raise data\.batch_size"):
            norm(given.x_BLD, given.mask_BL, given.cond_BLD)
    else:
        assert norm(given.x_BLD, given.mask_BL, given.cond_BLD)[1, 2].isfinite().all()


@BOTH_MODES
@EVERY
def test_empty_batch(name: str, training: bool) -> None:
    norm, given = build(name, training), draw(0, dtype=torch.float32, shape=SHAPE)
    empty = given.x_BLD[:0], given.valid_BL[:0], given.cond_BLD[:0]
    if training and NORMS[name].mixes_examples(norm.config):
        with pytest.raises(ValueError, match="got 0"):
            norm(*empty)
    else:
        assert norm(*empty).shape == (0, *SHAPE[1:])


LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "features first": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "slice": lambda x: torch.cat((x, x), -1)[..., : x.shape[-1]],
    "every other": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "expanded": lambda x: x[:1].expand(x.shape),
}


@BOTH_MODES
@pytest.mark.parametrize("layout", LAYOUTS)
@EVERY
def test_memory_layout_does_not_matter(name: str, layout: str, training: bool) -> None:
    """B39."""
    given = draw(1, dtype=torch.float32, shape=SHAPE)
    x_BLD = LAYOUTS[layout](given.x_BLD)
    assert not x_BLD.is_contiguous()
    norms = [build(name, training) for _ in range(2)]
    y, wanted = (
        n(x, given.mask_BL, given.cond_BLD) for n, x in zip(norms, (x_BLD, x_BLD.contiguous()), strict=True)
    )
    assert_close(y, wanted, 1e-6)


@BOTH_MODES
@pytest.mark.parametrize(
    ("dtype", "autocast"),
    [
        *((d, None) for d in (torch.float32, torch.float64, *HALF)),
        *((torch.float32, d) for d in HALF),
        *((d, d) for d in HALF),
    ],
    ids=str,
)
@EVERY
def test_output_has_the_dtype_of_the_input(
    name: str, dtype: torch.dtype, autocast: torch.dtype | None, training: bool
) -> None:
    """B41: whatever autocast prefers, and with parameters in float32 wherever autocast bridges the difference."""
    norm, given = build(name, training), draw(1, dtype=dtype, shape=SHAPE)
    if autocast is None:
        norm.to(dtype)
    with torch.autocast("cpu", autocast or torch.bfloat16, enabled=autocast is not None):
        y = norm(given.x_BLD, given.mask_BL, given.cond_BLD)
    assert y.dtype == dtype
    assert y.isfinite().all()


@BOTH_MODES
@EVERY
def test_condition_of_higher_precision_does_not_raise_that_of_the_output(name: str, training: bool) -> None:
    norm, given = build(name, training), draw(1, dtype=torch.float32, shape=SHAPE)
    assert norm(given.x_BLD.bfloat16(), given.mask_BL, given.cond_BLD).dtype == torch.bfloat16


@pytest.mark.parametrize("poison", [float("nan"), float("inf"), 1e30])
@EVERY
def test_poisoned_batch_is_not_remembered(name: str, poison: float) -> None:
    """B29: one batch without finite statistics leaves every buffer, bit for bit; the next clean one counts."""
    norms = [build(name, True) for _ in range(2)]
    for seed, poisoned in enumerate((False, True, False)):
        given = draw(seed, dtype=torch.float32, shape=SHAPE)
        if poisoned:
            x_BLD = given.x_BLD.clone()
            x_BLD[0, 0, 0] = poison
            measured(norms[0], replace(given, x_BLD=x_BLD))
        else:
            for norm in norms:
                measured(norm, given)
        assert all(buffer.isfinite().all() for buffer in norms[0].buffers())
        if poison != 1e30 or name not in TOKENS_FIRST:  # which bring even that token to a finite size
            assert all(map(torch.equal, norms[0].buffers(), norms[1].buffers()))
