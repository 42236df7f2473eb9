"""Batch against running statistics, by numpy.

Shapes: B examples, L positions, D model width, N counted tokens.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from normtrial.probes.running import BatchStatistics, Discrepancy
from tests.network.models import lengths_mask
from tests.norms.options import make

EPS = 1e-5
B, L, D = 4, 5, 3
MASK_BL = lengths_mask([5, 3, 1, 2], L)


def draw(seed: int, scale: float = 1.0) -> Tensor:
    x_BLD = torch.randn(B, L, D, generator=torch.Generator().manual_seed(seed)) * scale + 2
    x_BLD[~MASK_BL] = 1e3  # nobody may look there
    return x_BLD


def measured(probe, norm, batches) -> dict[str, float]:
    found = {}
    for x_BLD in batches:
        norm(x_BLD, MASK_BL)
        found = {name.removeprefix("stats/n/"): float(value) for name, value in probe.measure().items()}
    return found


def running_bn(batches, momentum: float):
    """Running mean and variance after, and mean and variance of each batch."""
    mean, var, seen = np.zeros(D), np.ones(D), []
    for x_BLD in batches:
        x_ND = x_BLD[MASK_BL].double().numpy()
        seen.append((x_ND.mean(0), x_ND.var(0)))
        mean = (1 - momentum) * mean + momentum * x_ND.mean(0)
        var = (1 - momentum) * var + momentum * x_ND.var(0, ddof=1)
    return mean, var, seen


@pytest.mark.parametrize("name", ["bn", "rbn", "repbn"])
def test_tid_of_pooled_statistics(name: str) -> None:
    norm, batches = make(name, D, momentum=0.3), [draw(0), draw(1, 3.0)]
    mean, var, seen = running_bn(batches, 0.3)
    sigma = np.sqrt(seen[-1][1] + EPS)
    found = measured(Discrepancy({"n": norm}), norm, batches)
    assert found == pytest.approx(
        {
            "tid_mean": np.mean(np.abs(mean - seen[-1][0]) / sigma),
            "tid_var": np.mean(np.abs(np.sqrt(var + EPS) / sigma - 1)),
        },
        rel=1e-4,
    )


@pytest.mark.parametrize("name", ["power", "power_v"])
def test_tid_of_mean_squares(name: str) -> None:
    norm = make(name, D, momentum=0.3, token_rms=False)
    square = (draw(1)[MASK_BL].double().numpy() ** 2).mean(0)
    expected = np.mean(np.abs(np.sqrt((0.7 + 0.3 * square + EPS) / (square + EPS)) - 1))
    found = measured(Discrepancy({"n": norm}), norm, [draw(1)])
    assert found == pytest.approx({"tid_mean": 0.0, "tid_var": expected}, rel=1e-4)


def test_tid_by_position_counts_positions_with_enough_tokens() -> None:
    norm, x = make("bn_pos", D, max_len=8, momentum=0.3), draw(1).double().numpy()
    shares_mean, shares_var = [], []
    first = draw(0).double().numpy()
    pooled_mean, pooled_var = np.zeros(D), np.ones(D)
    for t, num in enumerate((4, 3, 2)):  # the other positions have one token
        mean, var = pooled_mean, pooled_var  # a position that was never seen starts there
        for batch in (first, x):
            mean = 0.7 * mean + 0.3 * batch[:, t][MASK_BL[:, t]].mean(0)
            var = 0.7 * var + 0.3 * batch[:, t][MASK_BL[:, t]].var(0, ddof=1)
        at = x[:, t][MASK_BL[:, t]]
        assert len(at) == num
        sigma = np.sqrt(at.var(0) + EPS)
        shares_mean.append(np.abs(mean - at.mean(0)) / sigma)
        shares_var.append(np.abs(np.sqrt(var + EPS) / sigma - 1))
    found = measured(Discrepancy({"n": norm}), norm, [draw(0), draw(1)])
    assert found == pytest.approx({"tid_mean": np.mean(shares_mean), "tid_var": np.mean(shares_var)}, rel=1e-4)


def test_distance_sigma_and_tokens() -> None:
    norm, batches = make("bn", D, momentum=0.3), [draw(0), draw(1, 3.0)]
    mean, var, seen = running_bn(batches, 0.3)
    found = measured(BatchStatistics({"n": norm}), norm, batches)
    log_sigma = np.log(np.sqrt(seen[-1][1] + EPS))
    expected = {
        "distance_mean": np.linalg.norm(mean - seen[-1][0]) / D,
        "distance_var": np.linalg.norm(var - seen[-1][1]) / D,
        "log_sigma_mean": log_sigma.mean(),
        "log_sigma_min": log_sigma.min(),
        "tokens": 11,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_variation_over_steps_weighs_recent_ones_more_and_survives_a_checkpoint() -> None:
    norm, batches = make("bn", D), [draw(seed, 1 + seed) for seed in range(4)]
    _, _, seen = running_bn(batches, 0.1)
    weights = 0.9 ** np.arange(3, -1, -1)
    means, variances = (np.stack([pair[at] for pair in seen]) for at in (0, 1))

    def center(values):
        return np.average(values, axis=0, weights=weights)

    def spread(values):
        return np.sqrt(center((values - center(values)) ** 2))

    scale = center(variances) + EPS
    expected = {"cv_mean": np.mean(spread(means) / np.sqrt(scale)), "cv_var": np.mean(spread(variances) / scale)}
    first = BatchStatistics({"n": norm})
    assert "cv_mean" not in measured(first, norm, batches[:1])
    assert "cv_mean" in measured(first, norm, batches[1:3])
    second = BatchStatistics({"n": norm})
    second.load(first.state())
    found = measured(second, norm, batches[3:])
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-4)


def test_a_batch_that_is_not_finite_leaves_no_trace_in_the_variation() -> None:
    batches = [draw(seed, 1 + seed) for seed in range(4)]
    poisoned = batches[1].clone()
    poisoned[0, 0] = torch.nan
    norms = [make("bn", D), make("bn", D)]
    probes = [BatchStatistics({"n": norm}) for norm in norms]
    clean = measured(probes[0], norms[0], batches)
    with_it = measured(probes[1], norms[1], [batches[0], poisoned, *batches[1:]])
    assert {name: with_it[name] for name in ("cv_mean", "cv_var")} == pytest.approx(
        {name: clean[name] for name in ("cv_mean", "cv_var")}
    )


def test_variation_by_position_leaves_out_positions_seen_once() -> None:
    norm, probe = make("bn_pos", D, max_len=8), None
    probe = BatchStatistics({"n": norm})
    found = measured(probe, norm, [draw(0), draw(1)])
    at = [[draw(seed)[:, t][MASK_BL[:, t]].double().numpy().var(0) for t in range(3)] for seed in (0, 1)]
    stacked = np.array(at)
    weights = np.array([0.9, 1.0])
    center = np.average(stacked, axis=0, weights=weights)
    spread = np.sqrt(np.average((stacked - center) ** 2, axis=0, weights=weights))
    assert found["cv_var"] == pytest.approx(np.mean(spread / (center + EPS)), rel=1e-4)
    assert found["tokens"] == 11


def test_very_unequal_lengths_show_in_sigma_and_in_the_output() -> None:
    """B17: One long sentence among short ones, all of nearly one value: σ_B collapses."""
    norm = make("bn", D)
    mask_BL = lengths_mask([128] + [4] * 7, 128)
    x_BLD = torch.full((8, 128, D), 2.0)
    x_BLD[0, 127] += 1e-2
    y_BLD = norm(x_BLD, mask_BL)
    probe = BatchStatistics({"n": norm})
    low = float(probe.measure()["stats/n/log_sigma_min"])
    assert low == pytest.approx(np.log(np.sqrt(1e-4 * (155 / 156**2) + EPS)), rel=1e-3)
    assert float(y_BLD.detach().abs().max()) > 3 * 1e-2


def test_before_any_batch_there_is_nothing_to_say() -> None:
    assert Discrepancy({"n": make("bn", D), "m": make("ln", D)}).measure() == {}
