"""Every placement is its formula, draws it, and stands where it says.

Shapes: B examples, L positions, D model width.
"""

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.network.blocks import Block
from normtrial.norms.catalogue import NORMS
from normtrial.placements.base import Placement, PlacementConfig, Sublayers
from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import disturb, lengths_mask, model, small, tokens
from tests.norms.draws import assert_close, draw, referred
from tests.norms.options import CONF, PAIRS, chosen, has, leaves, settings, usual_norm
from tests.placements.formulas import entered, formula_of, left

EVERY = pytest.mark.parametrize("name", PLACEMENTS)
DEPTH = 9  # of which a quarter is no whole number


def matrix(seed: int) -> Callable[[Tensor], Tensor]:
    """A linear stand-in; no two commute, so any other order of calls gives another result."""
    weight = torch.randn(5, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return lambda x: x @ weight


def gates_open(placement: Placement) -> Placement:
    """Parameters of a placement start at values that switch branches off; here they are others, one each."""
    with torch.no_grad():
        for at, parameter in enumerate(placement.parameters()):
            parameter.fill_(0.5 + at)
    return placement


def of(placement: Placement, config: PlacementConfig) -> dict[str, Any]:
    """Options and parameters, for the formula."""
    return {leaf: getattr(config, leaf) for leaf in leaves(config)} | dict(placement.named_parameters())


def test_every_placement_has_its_file_and_every_file_its_placement() -> None:
    assert {path.stem for path in (CONF / "placement").glob("*.yaml")} == set(PLACEMENTS)


@EVERY
def test_forward_is_its_formula(name: str) -> None:
    cls, config = PLACEMENTS[name], settings(*chosen("placement", name)).placement
    assert config.name == name
    assert type(config) is cls.Config
    norms = {site: matrix(10 + at) for at, site in enumerate(cls.norm_sites())}
    attention, mlp, final = matrix(1), matrix(2), matrix(3)
    x_BLD = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    given, wanted = cls.enter(x_BLD), entered(name, x_BLD)
    for layer in range(DEPTH):
        placement = gates_open(cls(config, layer, DEPTH))
        given = placement(given, Sublayers(attention, mlp, norms))
        wanted = formula_of(name)(wanted, attention, mlp, norms, layer, DEPTH, of(placement, config))
        torch.testing.assert_close(given, wanted, rtol=1e-12, atol=0)
    torch.testing.assert_close(cls.leave(given, final), left(name, wanted, final), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("norm", "name"), PAIRS)
def test_block_wires_its_own_modules_with_mask_and_condition(norm: str, name: str) -> None:
    block = disturb(model(norm, name)).eval().blocks[1]
    assert isinstance(block, Block)
    cls = PLACEMENTS[name]
    owned = {site for site in cls.norm_sites() if "." not in site}
    assert {key for key, _ in block.named_children()} == {"attention", "mlp", "placement", *owned}
    x_BLD, cond_BLD = torch.randn(2, 2, 5, 16, generator=torch.Generator().manual_seed(0)).unbind(0)
    mask_BL = lengths_mask([5, 2], 5)

    def bound(site: str) -> Callable[[Tensor], Tensor]:
        return lambda x: block.get_submodule(site)(x, mask_BL, cond_BLD)

    norms = {site: bound(site) for site in cls.norm_sites()}
    placement, stream = block.placement, cls.enter(x_BLD)
    options = of(placement, small(norm, name).placement)
    wanted = formula_of(name)(stream, bound("attention"), bound("mlp"), norms, 1, 2, options)
    torch.testing.assert_close(block(stream, mask_BL, cond_BLD), wanted)


@EVERY
def test_every_norm_is_called_once_in_the_order_of_the_sites(name: str) -> None:
    """And a norm after the embedding and before the head exists exactly where declared."""
    network, cls = model(usual_norm(name), name, model__num_layers=3), PLACEMENTS[name]
    assert (network.final_norm is not None) == cls.final_norm
    assert (network.embed_norm is not None) == cls.embed_norm
    sites = [f"block{layer:02d}.{site}" for layer in range(3) for site in cls.norm_sites()]
    sites += [site for site in ("embed_norm", "final_norm") if getattr(cls, site)]
    called: list[str] = []
    watched = network.sites()
    for site, module in watched.items():
        module.register_forward_hook(lambda *_, site=site: called.append(site))
    network(tokens(0), lengths_mask([7, 4, 1, 6], 7))
    assert called == list(watched)
    assert {site for site, module in watched.items() if module in set(network.norms())} == set(sites)
    assert len(list(network.norms())) == len(sites)


@EVERY
def test_stream_arrives_at_the_head_normalized(name: str) -> None:
    """By the final norm, or by the last norm of the last block: what `final_norm` is declared for."""
    network = model(usual_norm(name), name)
    two_streams = isinstance(network.wiring.enter(torch.zeros(1)), tuple)  # the head sees the sum of two
    arriving: list[Tensor] = []
    network.head.register_forward_pre_hook(lambda _, arguments: arriving.append(arguments[0].detach()))
    network(tokens(0))
    if network.final_norm is not None or PLACEMENTS[name].norm_sites():
        assert arriving[0].mean(-1).abs().max() < 1e-5
        assert two_streams or (arriving[0].std(-1, correction=0) - 1).abs().max() < 1e-3


@EVERY
def test_docstring_draws_the_residual_path_and_says_the_formula(name: str) -> None:
    drawn = inspect.getdoc(PLACEMENTS[name]) or ""
    assert PLACEMENTS[name].__doc__, "no docstring of its own"
    sites = [site.split(".")[-1] for site in PLACEMENTS[name].norm_sites()]
    for sign in ("x ──", "└──", "(+)", "attention", "mlp", "x'", "x ←", "Source:", *sites):
        assert sign in drawn, f"the drawing or formula lacks {sign!r}"
    assert ("final_norm" in drawn) == PLACEMENTS[name].final_norm
    assert ("embed_norm" in drawn) == PLACEMENTS[name].embed_norm


@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_eps_reaches_every_instance(norm: str, placement: str) -> None:
    """By what each instance gives on tokens so small that eps decides."""
    if not has(norm, "eps"):
        return
    network = disturb(model(norm, placement, norm__eps=0.02)).train()
    found = list(network.norms())
    assert len(found) >= 2 * len(PLACEMENTS[placement].norm_sites())
    for instance in found:
        given = draw(1, dtype=torch.float32, shape=(2, 3, instance.d_model))
        given.x_BLD = 0.1 * given.x_BLD
        wanted, _, _ = referred(instance, given)
        y_BLD = instance(given.x_BLD, given.mask_BL, given.cond_BLD)
        assert_close(y_BLD[given.valid_BL], wanted[given.valid_BL], 1e-6)


@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_every_instance_has_every_option(norm: str, placement: str) -> None:
    config = small(norm, placement).norm
    for instance in model(norm, placement).norms():
        assert type(instance) is NORMS[norm]
        assert all(getattr(instance.config, leaf) == getattr(config, leaf) for leaf in leaves(config))
