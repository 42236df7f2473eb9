"""Activation checkpointing changes memory alone: losses, gradients, buffers and what norms observed stay."""

from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.config import Config
from normtrial.errors import ConfigError
from normtrial.identity import run_id
from normtrial.network.model import Transformer
from normtrial.norms.catalogue import NORMS
from normtrial.placements.catalogue import PLACEMENTS
from normtrial.training.evaluation.predict import mean_loss
from tests.network.models import CLASSES, build, disturb, lengths_mask, small, tokens
from tests.norms.options import NORM_FREE, settings

DROPOUT = 0.3


def config(norm: str, placement: str, again: bool, **changes: Any) -> Config:
    return small(norm, placement, model__dropout=DROPOUT, model__checkpoint_activations=again, **changes)


def trained(given: Config, half: bool = False) -> tuple[Transformer, dict[str, Tensor]]:
    """Three steps of plain descent: every loss, penalty, gradient, weight, buffer and observed moment."""
    model, found = disturb(build(given)).train(), {}
    torch.manual_seed(0)
    for step in range(3):
        tokens_BL = tokens(step)
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            logits_BC = model(tokens_BL, lengths_mask([7, 4, 2, 6], 7))
        loss, penalty = mean_loss(logits_BC, tokens_BL[:, 0] % CLASSES), model.penalty()
        (loss if penalty is None else loss + penalty).backward()
        found[f"loss {step}"] = loss.detach()
        if penalty is not None:
            found[f"penalty {step}"], after = penalty.detach(), model.penalty()
            assert after is not None
            assert torch.equal(after, penalty), "nor is what a norm noted lost in the second pass"
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                found[f"gradient {step} {name}"] = parameter.grad.clone()
                parameter.data -= 0.01 * parameter.grad.clamp(-1, 1)
    for index, norm in enumerate(model.norms()):
        for kind, moment in enumerate(getattr(norm, "observed", None) or ()):
            found[f"observed {index} {kind}"] = moment
    return model, found | model.state_dict()


def assert_same(given: list[Config], half: bool = False) -> None:
    (_, kept), (_, again) = (trained(each, half) for each in given)
    assert kept.keys() == again.keys()
    assert all(bool(value.isfinite().all()) for value in kept.values())
    assert [name for name, value in kept.items() if not torch.equal(value, again[name])] == []


@pytest.mark.parametrize("norm", NORMS)
def test_no_number_and_no_statistic_changes(norm: str) -> None:
    """B33: activation checkpointing moves running statistics once."""
    assert_same([config(norm, "post", again) for again in (False, True)])


@pytest.mark.parametrize("placement", [name for name in PLACEMENTS if name not in NORM_FREE])
def test_with_every_placement_in_half_precision(placement: str) -> None:
    assert_same([config("bn", placement, again) for again in (False, True)], half=True)


def test_power_norm_reads_the_running_statistic_from_before_the_batch() -> None:
    """Without its warm-up it divides by what the first pass has moved meanwhile."""
    assert_same([config("power", "pre", again, norm__warmup_steps=0) for again in (False, True)])


def test_batches_are_counted_once_and_blocks_run_twice() -> None:
    calls: list[int] = []
    for again in (False, True):
        model = build(config("bn", "pre", again)).train()
        count = [0]
        model.get_submodule("blocks.0.attention").register_forward_hook(
            lambda *given, count=count: count.__setitem__(0, count[0] + 1)
        )
        loss = mean_loss(model(tokens(0), None), tokens(0)[:, 0] % CLASSES)
        loss.backward()
        calls += count
        assert {int(norm.get_buffer("num_batches_tracked")) for norm in model.norms()} == {1}
    assert calls == [1, 2]


def test_evaluation_runs_once() -> None:
    model = build(config("bn", "pre", True)).eval()
    assert model(tokens(0), None).grad_fn is not None
    model.train()
    with torch.no_grad():
        model(tokens(0), None)
    assert {int(norm.get_buffer("num_batches_tracked")) for norm in model.norms()} == {1}


def test_it_is_the_same_run_and_not_for_compiled_models() -> None:
    again = {"model.checkpoint_activations": True}
    assert run_id(settings("norm=bn", values=again), "text") == run_id(settings("norm=bn"), "text")
    with pytest.raises(ConfigError, match=r"leave model\.checkpoint_activations=false"):
        settings("norm=bn", values={**again, "compile": True})
