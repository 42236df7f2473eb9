"""`bn_pos`: what each position is normalized by, and what happens where it has no statistics.

Shapes: B examples, L positions, D model width.
"""

import pytest
import torch
from torch import Tensor

from normtrial.norms.base import evaluating_with
from normtrial.norms.batch.position import PositionBatchNorm
from tests.network.models import lengths_mask
from tests.norms.draws import assert_close, draw, measured, randomize, referred
from tests.norms.options import make

POLICIES = ("clamp", "pooled")


def bn_pos(d_model: int = 3, max_len: int = 5, **changes) -> PositionBatchNorm:
    norm = make("bn_pos", d_model, max_len=max_len, **changes)
    assert isinstance(norm, PositionBatchNorm)
    return norm


def seen(norm: PositionBatchNorm) -> list[int]:
    return norm.num_updates.tolist()


def standardized(x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    return (x - mean) / (variance + 1e-5).sqrt()


def test_b21_late_positions_keep_their_own_counts_and_move_only_with_two_tokens_or_more() -> None:
    """Lengths 8 to 50 in batches of 20: late steps see mostly padding."""
    norm, generator = bn_pos(max_len=50), torch.Generator().manual_seed(0)
    counts = torch.zeros(50, dtype=torch.int64)
    for _ in range(6):
        lengths = torch.randint(8, 51, (20,), generator=generator).tolist()
        mask_BL = lengths_mask(lengths, max(lengths))
        before, counted = norm.running_mean.clone(), mask_BL.sum(0)
        y = norm(torch.randn(20, max(lengths), 3, generator=generator), mask_BL)
        moved = (norm.running_mean != before).any(1)
        enough = torch.zeros(50, dtype=torch.bool)
        enough[: max(lengths)] = counted >= 2
        counts += enough
        assert torch.equal(moved, enough)
        assert y.isfinite().all()
        assert y.abs().max() < 10, "no division by a variance of nothing"
    assert seen(norm) == counts.tolist()
    assert min(seen(norm)[:8]) == 6
    assert min(seen(norm)) < 6


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("unseen", POLICIES)
@pytest.mark.parametrize("max_len", [2, 4, 7])
def test_equals_loops_below_at_and_beyond_max_len(max_len: int, unseen: str, training: bool, seed: int) -> None:
    given = draw(seed, shape=(4, 5, 3))
    norm = randomize(bn_pos(max_len=max_len, unseen=unseen, min_valid_tokens=2 + seed % 2), seed)
    norm.double().train(training)
    wanted, wanted_gradients, state = referred(norm, given)
    y, gradients = measured(norm, given)
    assert_close(y[given.valid_BL], wanted[given.valid_BL], 1e-11, "output")
    for key, gradient in gradients.items():
        assert_close(gradient, wanted_gradients[key], 1e-10, f"gradient of {key}")
    for key, value in state.items():
        assert_close(norm.get_buffer(key), value, 1e-12, key)


def test_a_position_with_one_token_gets_running_statistics_from_before_the_batch() -> None:
    norm = bn_pos(affine=False)
    full, ragged = torch.randn(3, 4, 3), torch.randn(3, 4, 3)
    norm(full)
    mean, variance = norm.running_mean.clone(), norm.running_var.clone()
    y = norm(ragged, lengths_mask([4, 2, 2], 4))
    assert_close(y[0, 2:], standardized(ragged[0, 2:], mean[2:4], variance[2:4]), 1e-6)
    assert_close(norm.running_mean[2:4], mean[2:4], 0)
    assert seen(norm) == [2, 2, 1, 1, 0]


def test_a_position_starts_at_the_pooled_statistics_and_moves_by_momentum() -> None:
    norm = bn_pos(momentum=0.25)
    first, second = torch.randn(4, 2, 3), 5 + torch.randn(4, 5, 3)
    norm(first)
    assert_close(norm.running_var[:2], 0.75 + 0.25 * first.var(0), 1e-6)
    mean, variance = norm.pooled_mean.clone(), norm.pooled_var.clone()
    norm(second)
    assert_close(norm.running_mean[2:], 0.75 * mean + 0.25 * second[:, 2:].mean(0), 1e-6)
    assert_close(norm.running_var[2:], 0.75 * variance + 0.25 * second[:, 2:].var(0), 1e-6)


def test_tokens_that_are_alike_leave_no_variance_of_nothing() -> None:
    norm = bn_pos()
    norm(torch.cat((torch.randn(3, 4, 3), torch.ones(3, 1, 3)), 1))
    y = norm(torch.randn(3, 5, 3), lengths_mask([5, 2, 2], 5))
    assert y.abs().max() < 10


def test_pooled_statistics_are_those_of_bn() -> None:
    pooled, bn = bn_pos(), make("bn", 3)
    for seed in range(4):
        given = draw(seed, dtype=torch.float32, shape=(4, 5, 3))
        pooled(given.x_BLD, given.mask_BL)
        bn(given.x_BLD, given.mask_BL)
    assert_close(pooled.pooled_mean, bn.get_buffer("running_mean"), 1e-6)
    assert_close(pooled.pooled_var, bn.get_buffer("running_var"), 1e-6)


def test_unseen_positions_are_clamped_pooled_or_refused() -> None:
    """Positions 1, 2 of 5 were seen; the input has 7."""
    x = torch.randn(2, 7, 3)
    norms = {policy: bn_pos(unseen=policy, affine=False).eval() for policy in (*POLICIES, "raise")}
    for norm in norms.values():
        norm.num_updates[1:3] = 1
        norm.running_mean.copy_(torch.arange(5.0)[:, None].expand(5, 3))
        norm.pooled_mean.fill_(9)
    for policy, means in (("clamp", [1, 1, 2, 2, 2, 2, 2]), ("pooled", [9, 1, 2, 9, 9, 9, 9])):
        wanted = standardized(x, torch.tensor(means)[:, None].float(), torch.ones(()))
        assert_close(norms[policy](x), wanted, 1e-6, policy)
    with pytest.raises(ValueError, match=r"no statistics at position 0: .* Set norm\.unseen=pooled or clamp"):
        norms["raise"](x)
    mask_BL = torch.zeros(2, 7, dtype=torch.bool)
    mask_BL[:, 1:3] = True
    assert norms["raise"](x, mask_BL)[mask_BL].isfinite().all(), "nothing is asked of positions without a token"


def test_before_anything_is_seen_mean_0_and_variance_1_stand_in() -> None:
    x = torch.randn(2, 7, 3)
    for policy in POLICIES:
        assert_close(bn_pos(unseen=policy).eval()(x), x / (1 + 1e-5) ** 0.5, 1e-6, policy)


def test_raise_refuses_a_rare_position_in_training_too() -> None:
    norm = bn_pos(unseen="raise")
    norm(torch.randn(3, 4, 3))
    assert norm(torch.randn(3, 4, 3), lengths_mask([4, 2, 2], 4)).isfinite().all()
    with pytest.raises(ValueError, match="no statistics at position 4"):
        norm(torch.randn(3, 5, 3), lengths_mask([5, 2, 2], 5))


def test_evaluation_with_the_batch_is_as_training_and_remembers_nothing() -> None:
    norm, x, mask_BL = randomize(bn_pos()), torch.randn(4, 6, 3), lengths_mask([6, 3, 3, 1], 6)
    before = {key: buffer.clone() for key, buffer in norm.named_buffers()}
    norm.eval()
    with evaluating_with(norm, "batch"):
        y = norm(x, mask_BL)
    assert all(torch.equal(buffer, before[key]) for key, buffer in norm.named_buffers())
    assert torch.equal(norm.train()(x, mask_BL), y)
