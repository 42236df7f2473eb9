"""Where dropout is: on the branches, or on what the norms give instead; nowhere at evaluation."""

import pytest
import torch
from torch import Tensor, nn

from normtrial.errors import ConfigError
from tests.network.models import SMALL, build, tokens
from tests.norms.options import settings


def outputs(dropout_on: str, *, training: bool) -> dict[str, Tensor]:
    """What each site of the first block gives, without the zeros that an activation or a start at 0 could make."""
    values = {**SMALL, "model.dropout": 0.5, "model.dropout_on": dropout_on}
    model = build(settings("norm=ln", "placement=post", values=values)).train(training)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            nn.init.constant_(parameter, 0.1)
    found: dict[str, Tensor] = {}

    def watch(site: str, name: str) -> None:
        def keep(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
            found[name], found[f"into {name}"] = output, inputs[0]

        model.get_submodule(site).register_forward_hook(keep)

    for site in ("attention", "mlp"):
        watch(f"blocks.0.{site}", site)
    watch("blocks.0", "stream")
    torch.manual_seed(0)
    model(tokens(0))
    return found


def share_of_zeros(y: Tensor) -> float:
    return (y == 0).double().mean().item()


@pytest.mark.parametrize(
    ("dropout_on", "dropped", "whole"),
    [
        ("branches", ("attention", "mlp"), ("into mlp", "stream")),
        ("norms", ("into mlp", "stream"), ("attention", "mlp")),
    ],
)
def test_it_is_where_it_is_asked_for(dropout_on: str, dropped: tuple[str, ...], whole: tuple[str, ...]) -> None:
    found = outputs(dropout_on, training=True)
    assert all(0.35 < share_of_zeros(found[site]) < 0.65 for site in dropped)
    assert all(share_of_zeros(found[site]) == 0 for site in whole)


def test_evaluation_drops_nothing() -> None:
    one, other = (outputs(dropout_on, training=False) for dropout_on in ("branches", "norms"))
    assert all(torch.equal(one[site], other[site]) for site in one)
    assert share_of_zeros(one["stream"]) == 0


def test_a_place_without_dropout_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.dropout_on=norms changes nothing at model\.dropout=0"):
        settings(values={"model.dropout": 0.0, "model.dropout_on": "norms"})
    for placement in ("none", "rezero"):
        with pytest.raises(ConfigError, match=f"no dropout in the blocks of placement={placement}"):
            settings("norm=none", f"placement={placement}", values={"model.dropout_on": "norms"})
    with pytest.raises(ConfigError, match="did you mean 'norms'"):
        settings(values={"model.dropout_on": "norm"})
