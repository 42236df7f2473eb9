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
    for site in ("attention", "mlp"):
        module = model.blocks[0].get_submodule(site)
        module.register_forward_hook(
            lambda _, args, y, site=site: found.update({site: y, f"into {site}": args[0]})
        )
    model.blocks[0].register_forward_hook(lambda _, args, y: found.update(stream=y))
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
    with pytest.raises(ConfigError, match="did you mean 'norms'"):
        settings(values={"model.dropout_on": "norm"})
