"""Number formats: what is computed in what, and the state of a scaled loss."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from normtrial.errors import ConfigError
from normtrial.training.loop import Loop
from normtrial.training.optim import OptimConfig, build_optimizer
from normtrial.training.precision import FORMATS, PrecisionConfig, ScaledConfig, build_scaler, computing_in
from tests.training.toy import Bag, make_loop, run

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def config(name: str) -> PrecisionConfig:
    scaled = FORMATS[name].scaled
    return (
        ScaledConfig(compute=name, initial_scale=4.0, growth_interval=2)
        if scaled
        else PrecisionConfig(compute=name)
    )


@pytest.mark.parametrize("name", FORMATS)
def test_a_matrix_product_comes_out_in_the_format(name: str) -> None:
    config(name).check()
    given = FORMATS[name]
    linear = nn.Linear(4, 4).to(given.weights)
    with computing_in(config(name), "cpu"):
        assert linear(torch.ones(1, 4, dtype=given.weights)).dtype == HALF.get(
            name.removesuffix("_pure"), given.weights
        )
    assert build_scaler(config(name), "cpu").is_enabled() == (name == "fp16")


def test_what_scales_its_loss_says_how_and_nothing_else_does() -> None:
    with pytest.raises(ConfigError, match="did you mean 'fp16'"):
        PrecisionConfig(compute="f16").check()
    with pytest.raises(ConfigError, match="choose precision=fp16 instead"):
        PrecisionConfig(compute="fp16").check()
    with pytest.raises(ConfigError, match="choose precision=bf16 instead"):
        ScaledConfig(compute="bf16", initial_scale=1.0, growth_interval=1).check()
    for name, value in (("initial_scale", 0.5), ("growth_interval", 0)):
        scaled = ScaledConfig(compute="fp16", initial_scale=1.0, growth_interval=1)
        setattr(scaled, name, value)
        with pytest.raises(ConfigError, match=f"precision.{name}"):
            scaled.check()


def test_scaling_leaves_float32_gradients_as_they_are_and_its_state_is_kept(tmp_path: Path) -> None:
    """The factor doubles every two steps: 4, 4, 8, 8, 16, 16. A power of two changes no digit."""

    def loop(name: str, steps: int, scaled: bool = True) -> Loop:
        scaler: dict[str, Any] = {"scaler": build_scaler(config("fp16"), "cpu")} if scaled else {}
        return make_loop(tmp_path / name, {"steps": steps, "checkpoint_every": 3}, model=Bag(), **scaler)

    whole, plain = loop("whole", 6), loop("plain", 6, scaled=False)
    run(whole)
    run(plain)
    assert whole.s.scaler.get_scale() == 32.0
    assert all(map(torch.equal, whole.s.model.parameters(), plain.s.model.parameters()))
    state = whole.s.checkpoints.latest()
    assert state is not None
    assert (state["progress"]["step"], state["scaler"]["scale"]) == (3, 8.0)
    rest = Loop(loop("rest", 6).s, state)
    run(rest)
    assert rest.s.scaler.state_dict() == whole.s.scaler.state_dict()
    assert all(map(torch.equal, whole.s.model.parameters(), rest.s.model.parameters()))


def test_the_factor_falls_after_a_skipped_step_and_training_goes_on(tmp_path: Path) -> None:
    """B51: Leaving `update` out would raise at the next step, whose gradients are to be unscaled."""
    model = Bag()
    before = [p.detach().clone() for p in model.parameters()]

    def burst(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        if output.requires_grad:
            output.register_hook(lambda gradient: gradient * (torch.inf if gradient.abs().max() > 0.3 else 1.0))

    model.head.register_forward_hook(burst)  # a gradient of at most 1/4, times a scale of 4, 2 or 1
    scaler = build_scaler(ScaledConfig(compute="fp16", initial_scale=4.0, growth_interval=100), "cpu")
    loop = make_loop(tmp_path, {"log_every": 1}, model=model, scaler=scaler)
    assert run(loop)[0] == "finished"
    skipped = loop.progress.events["scaler_skip"]
    assert 0 < skipped < 6
    assert loop.progress.updates == 6 - skipped
    assert scaler.get_scale() == 4.0 / 2**skipped
    assert not all(map(torch.equal, before, model.parameters()))


def test_adam_moves_float16_weights_by_about_lr() -> None:
    """As in float32: with the usual eps, which is 0 there, the second step would be hundreds of times as long."""
    options = OptimConfig(
        name="adamw",
        lr=1e-3,
        weight_decay=0.0,
        beta1=0.9,
        beta2=0.98,
        eps=None,
        warmup_steps=0,
        schedule="constant",
        clip=None,
    )
    weight = nn.Parameter(torch.zeros(100, dtype=torch.float16))
    optimizer = build_optimizer(options, [weight], [])
    for _ in range(3):
        weight.grad = torch.full_like(weight, 3e-4)
        optimizer.step()
    assert 0.5e-3 < weight.abs().max().item() < 10e-3
