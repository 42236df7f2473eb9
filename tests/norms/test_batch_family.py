"""Cases of public reports on BatchNorm's statistics, padding and state, for every norm of the family.

Shapes: B examples, L positions, D model width.
"""

from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.norms.base import evaluating_with
from normtrial.norms.batch.running import RunningNorm
from normtrial.norms.catalogue import NORMS
from tests.network.models import CLASSES, lengths_mask, model, tokens
from tests.norms.draws import assert_close, draw, measured, randomize
from tests.norms.options import has, make

FAMILY = [name for name, cls in NORMS.items() if issubclass(cls, RunningNorm)]
CENTRED = [name for name in FAMILY if not name.startswith("power")]
EVERY = pytest.mark.parametrize("name", FAMILY)
POOLED = pytest.mark.parametrize("name", [name for name in FAMILY if "L" in NORMS[name].reduces])


def randn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def state(norm: torch.nn.Module) -> Tensor:
    return torch.cat([buffer.double().flatten() for buffer in norm.buffers()])


def test_the_family_is_what_has_running_statistics() -> None:
    assert set(FAMILY) == {name for name, cls in NORMS.items() if "B" in cls.reduces}


@pytest.mark.parametrize("name", [name for name in CENTRED if name != "bn_token_rms"])
def test_b15_running_variance_keeps_four_digits_far_from_zero(name: str) -> None:
    """E[x²] − E[x]² of 3000 ± 0.05 keeps none in float32, and may be negative."""
    x_BLD, mask_BL = 3000 + 0.05 * randn(512, 2, 4), lengths_mask([2] * 256 + [1] * 256, 2)
    norm = make(name, 4, momentum=1.0)
    norm(x_BLD, mask_BL)
    by_position = name == "bn_pos"
    found = norm.get_buffer("running_var")[0] if by_position else norm.get_buffer("running_var")
    wanted = (x_BLD[:, 0] if by_position else x_BLD[mask_BL]).double().var(0)
    assert (found / wanted - 1).abs().max() < 1e-4


@POOLED
def test_b17_spread_of_a_batch_can_be_read_where_lengths_are_very_unequal(name: str) -> None:
    """One sentence of 128 among fours: σ_B is that of the valid tokens, the pads' zeros do not shrink it."""
    norm, x_BLD = make(name, 4), 3 * randn(8, 128, 4)
    mask_BL = lengths_mask([128] + [4] * 7, 128)
    norm(torch.where(mask_BL[..., None], x_BLD, 0.0), mask_BL)
    assert isinstance(norm, RunningNorm)
    assert norm.observed is not None
    valid = x_BLD[mask_BL].double()
    if name == "bn_token_rms":
        valid = valid / (valid.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    wanted = valid.var(0, correction=0) if name in CENTRED else valid.square().mean(0)
    assert norm.observed.num.item() == 128 + 28
    assert_close(norm.observed.variance, wanted, 1e-5, "observed variance")


@EVERY
def test_b19_the_mask_changes_the_statistics(name: str) -> None:
    x_BLD, mask_BL = 5 + randn(3, 4, 6), lengths_mask([4, 2, 3], 4)
    masked, unmasked = make(name, 6), make(name, 6)
    masked(x_BLD, mask_BL)
    unmasked(x_BLD)
    assert not torch.equal(state(masked), state(unmasked))


@EVERY
@pytest.mark.parametrize("rubbish", [float("nan"), float("inf"), -1e30])
def test_b25_rubbish_in_pads_reaches_no_gradient(name: str, rubbish: float) -> None:
    """0 · NaN is NaN: neither a parameter's gradient nor a pad's, which would go on to every weight before."""
    given, norms = draw(1, dtype=torch.float32, shape=(3, 4, 5)), [randomize(make(name, 5)) for _ in range(2)]
    _, clean = measured(norms[0], given)
    given.x_BLD = given.x_BLD.masked_fill(~given.valid_BL[..., None], rubbish)
    _, dirty = measured(norms[1], given)
    for key, gradient in clean.items():
        assert torch.equal(gradient, dirty[key]), key


@EVERY
def test_b27_a_last_batch_of_one_example_works_or_says_what_to_do(name: str) -> None:
    """33 examples in batches of 32: one of several tokens has a variance over them, but none at a position."""
    norm = make(name, 6)
    if "L" in NORMS[name].reduces:
        assert norm(randn(1, 4, 6)).isfinite().all()
    else:
        with pytest.raises(ValueError, match=r"at least 2 .* at some position, got 1; raise data\.batch_size"):
            norm(randn(1, 4, 6))
    assert norm.eval()(randn(1, 1, 6)).isfinite().all()


@EVERY
def test_b27_the_fewest_tokens_are_an_option_and_evaluation_falls_back_on_running_statistics(name: str) -> None:
    x_BLD = randn(3, 3, 6, seed=1)
    norm = randomize(make(name, 6, min_valid_tokens=10))
    with pytest.raises(ValueError, match="at least 10 counted tokens"):
        norm(x_BLD)
    norm.eval()
    running = norm(x_BLD)
    with evaluating_with(norm, "batch"):
        assert torch.equal(norm(x_BLD), running)
        assert not torch.equal(norm(randn(10, 1, 6))[:3], norm(randn(11, 1, 6))[:3])


@EVERY
def test_b29_statistics_that_overflow_their_own_precision_are_not_remembered(name: str) -> None:
    """In float16 buffers 70,000 is infinite, though the float32 statistic was not."""
    norm = make(name, 6).half()
    before = {key: buffer.clone() for key, buffer in norm.named_buffers()}
    x_BLD = (1000 * randn(3, 4, 6)).half()
    norm(x_BLD)
    assert all(buffer.isfinite().all() for buffer in norm.buffers())
    if name != "bn_token_rms":
        assert all(torch.equal(buffer, before[key]) for key, buffer in norm.named_buffers())


@EVERY
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_b31_the_order_inside_a_batch_does_not_matter(name: str, placement: str) -> None:
    """Else a loader that sorts by class leaks the label through the statistics."""
    tokens_BL, mask_BL = tokens(0, B=6, L=7), lengths_mask([7, 4, 7, 6, 2, 7], 7)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    found = []
    for rows in (torch.arange(6), order):
        network = model(name, placement).double()
        logits_BC = network(tokens_BL[rows], mask_BL[rows])
        loss = torch.nn.functional.cross_entropy(logits_BC, tokens_BL[rows, 0] % CLASSES)
        penalty = network.penalty()
        found.append(loss if penalty is None else loss + penalty)
    assert_close(found[1], found[0], 1e-12, "loss")


@EVERY
@pytest.mark.parametrize("padding", ["exclude", "fill"])
def test_pads_come_out_as_zero_where_the_batch_normalizes_itself(name: str, padding: str) -> None:
    if name == "repbn" or padding not in getattr(NORMS[name].Config, "PADDINGS", ()):
        pytest.skip("not offered, or LayerNorm's shift stands there")
    mask_BL = lengths_mask([4, 2, 2], 4)
    assert (make(name, 6, padding=padding)(randn(3, 4, 6), mask_BL)[~mask_BL] == 0).all()


def test_fill_shrinks_the_variance_by_the_share_of_valid_tokens_and_leaves_the_mean() -> None:
    x_BLD, mask_BL = 2 + randn(4, 6, 5), lengths_mask([6, 3, 1, 2], 6)
    norms: dict[str, Any] = {padding: make("bn", 5, padding=padding) for padding in ("exclude", "fill")}
    for norm in norms.values():
        norm(x_BLD, mask_BL)
    excluded, filled = (norms[padding].observed for padding in ("exclude", "fill"))
    assert_close(filled.mean, excluded.mean, 1e-6)
    assert_close(filled.variance, excluded.variance * 12 / 24, 1e-6)
    by_hand = torch.where(mask_BL[..., None], x_BLD, x_BLD[mask_BL].mean(0)).flatten(0, 1)
    assert_close(norms["fill"].running_var, 0.9 + 0.1 * by_hand.var(0), 1e-6)


@EVERY
def test_options_of_the_family_are_the_same_in_every_member(name: str) -> None:
    assert all(has(name, option) for option in ("momentum", "padding", "eval_stats", "min_valid_tokens", "sync"))
