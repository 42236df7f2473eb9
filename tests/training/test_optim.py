"""The schedule at its corners, clipping, and who decays."""

import itertools
import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from normtrial.errors import ConfigError
from normtrial.training.optim import OptimConfig, build_optimizer, learning_rate

CONFIG = OptimConfig(
    name="adamw",
    lr=1e-3,
    weight_decay=0.1,
    beta1=0.9,
    beta2=0.98,
    eps=None,
    warmup_steps=10,
    schedule="cosine",
    clip=1.0,
)


def rates(num_steps: int, **changes: object) -> list[float]:
    config = replace(CONFIG, **changes)
    return [learning_rate(config, step, num_steps) for step in range(1, num_steps + 1)]


def test_warm_up_rises_to_the_peak_and_cosine_falls_to_a_tenth() -> None:
    found = rates(100)
    assert found[:10] == pytest.approx([1e-4 * step for step in range(1, 11)], rel=1e-12)
    assert max(found) == found[9] == 1e-3
    assert found[54] == pytest.approx(1e-3 * (0.1 + 0.45), rel=1e-9), "half way between the peak and the end"
    assert found[-1] == pytest.approx(1e-4, rel=1e-9)
    assert all(later < earlier for earlier, later in itertools.pairwise(found[9:]))


def test_constant_stays_at_the_peak() -> None:
    assert rates(20, schedule="constant")[9:] == [1e-3] * 11


@pytest.mark.parametrize("schedule", ["cosine", "constant"])
@pytest.mark.parametrize(("num_steps", "warmup_steps"), [(1, 0), (1, 1), (10, 10), (5, 0), (10, 1)])
def test_no_corner_leaves_the_range(num_steps: int, warmup_steps: int, schedule: str) -> None:
    found = rates(num_steps, warmup_steps=warmup_steps, schedule=schedule)
    assert all(1e-4 * (1 - 1e-12) <= rate <= 1e-3 for rate in found)
    if warmup_steps == num_steps:
        assert found[-1] == 1e-3


def test_decay_reaches_one_group_only() -> None:
    decayed, undecayed = (nn.Parameter(torch.full((3,), 2.0)) for _ in range(2))
    optimizer = build_optimizer(CONFIG, [decayed], [undecayed])
    for parameter in (decayed, undecayed):
        parameter.grad = torch.zeros(3)
    optimizer.step()
    assert torch.equal(undecayed, torch.full((3,), 2.0))
    assert decayed.tolist() == pytest.approx([2.0 * (1 - 1e-3 * 0.1)] * 3)


def test_betas_and_rate_arrive() -> None:
    optimizer = build_optimizer(
        replace(CONFIG, beta1=0.5, beta2=0.75, eps=None, lr=7.0), [nn.Parameter(torch.ones(1))], []
    )
    assert optimizer.param_groups[0]["betas"] == (0.5, 0.75)
    assert optimizer.param_groups[0]["lr"] == 7.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "sgd"},
        {"schedule": "linear"},
        {"lr": 0.0},
        {"lr": math.inf},
        {"weight_decay": -0.1},
        {"beta1": 1.0},
        {"beta2": -0.1},
        {"warmup_steps": -1},
        {"clip": 0.0},
        {"clip": math.inf},
    ],
    ids=str,
)
def test_a_value_out_of_range_is_refused_by_name(wrong: dict[str, object]) -> None:
    CONFIG.check()
    with pytest.raises(ConfigError, match=f"optim.{next(iter(wrong))}"):
        replace(CONFIG, **wrong).check()
