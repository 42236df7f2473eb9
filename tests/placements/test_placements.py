"""Every placement is its formula, draws it, and stands where it says.

Shapes: B examples, L positions, D model width.
"""

import inspect
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from normtrial.network.blocks import Block
from normtrial.norms.catalogue import NORMS
from normtrial.placements.base import Sublayers
from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import disturb, lengths_mask, model, small, tokens
from tests.norms.draws import assert_close, draw, referred
from tests.norms.options import CONF, PAIRS, has, leaves, settings
from tests.placements.formulas import formula_of

EVERY = pytest.mark.parametrize("name", PLACEMENTS)
DEPTH = 3


def matrix(seed: int) -> Callable[[Tensor], Tensor]:
    """A linear stand-in; no two commute, so any other order of calls gives another result."""
    weight = torch.randn(5, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return lambda x: x @ weight


def test_every_placement_has_its_file_and_every_file_its_placement() -> None:
    assert {path.stem for path in (CONF / "placement").glob("*.yaml")} == set(PLACEMENTS)


@EVERY
def test_forward_is_its_formula(name: str) -> None:
    cls, config = PLACEMENTS[name], settings(f"placement={name}").placement
    assert config.name == name
    assert type(config) is cls.Config
    norms = {site: matrix(10 + at) for at, site in enumerate(cls.norm_sites)}
    attention, mlp = matrix(1), matrix(2)
    x_BLD = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for layer in range(DEPTH):
        given = cls(config, layer, DEPTH)(x_BLD, Sublayers(attention, mlp, norms))
        wanted = formula_of(name)(x_BLD, attention, mlp, norms, layer, DEPTH)
        assert (given - wanted).abs().max() < 1e-10


@pytest.mark.parametrize(("norm", "name"), PAIRS)
def test_block_wires_its_own_modules_with_mask_and_condition(norm: str, name: str) -> None:
    block = disturb(model(norm, name)).eval().blocks[1]
    assert isinstance(block, Block)
    cls = PLACEMENTS[name]
    assert {key for key, _ in block.named_children()} == {"attention", "mlp", "placement", *cls.norm_sites}
    x_BLD, cond_BLD = torch.randn(2, 2, 5, 16, generator=torch.Generator().manual_seed(0)).unbind(0)
    mask_BL = lengths_mask([5, 2], 5)

    def bound(site: str) -> Callable[[Tensor], Tensor]:
        return lambda x: block.get_submodule(site)(x, mask_BL, cond_BLD)

    norms = {site: bound(site) for site in cls.norm_sites}
    wanted = formula_of(name)(x_BLD, lambda x: block.attention(x, mask_BL), block.mlp, norms, 1, 2)
    assert torch.equal(block(x_BLD, mask_BL, cond_BLD), wanted)


@EVERY
def test_every_norm_is_called_once_and_a_final_one_exists_exactly_where_declared(name: str) -> None:
    network, cls = model("ln", name, model__num_layers=DEPTH), PLACEMENTS[name]
    assert (network.final_norm is not None) == cls.final_norm
    sites = [f"block{layer:02d}.{site}" for layer in range(DEPTH) for site in cls.norm_sites]
    sites += ["final_norm"] if cls.final_norm else []
    called: list[str] = []
    for site, module in network.sites().items():
        if module in set(network.norms()):
            module.register_forward_hook(lambda *_, site=site: called.append(site))
    network(tokens(0), lengths_mask([7, 4, 1, 6], 7))
    assert sorted(called) == sorted(sites)
    assert len(list(network.norms())) == len(sites)


@EVERY
def test_stream_arrives_at_the_head_normalized(name: str) -> None:
    """By the final norm, or by the last norm of the last block: what `final_norm` is declared for."""
    network = model("ln", name)
    arriving: list[Tensor] = []
    network.head.register_forward_pre_hook(lambda _, arguments: arriving.append(arguments[0].detach()))
    network(tokens(0))
    if network.final_norm is not None or PLACEMENTS[name].norm_sites:
        assert arriving[0].mean(-1).abs().max() < 1e-5
        assert (arriving[0].std(-1, correction=0) - 1).abs().max() < 1e-3


@EVERY
def test_docstring_draws_the_residual_path_and_says_the_formula(name: str) -> None:
    drawn = inspect.getdoc(PLACEMENTS[name]) or ""
    assert PLACEMENTS[name].__doc__, "no docstring of its own"
    for sign in ("x ──", "└──", "(+)", "attention", "mlp", "x'", "x ←", "Source:", *PLACEMENTS[name].norm_sites):
        assert sign in drawn, f"the drawing or formula lacks {sign!r}"
    assert ("final_norm" in drawn) == PLACEMENTS[name].final_norm


@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_eps_reaches_every_instance(norm: str, placement: str) -> None:
    """By what each instance gives on tokens so small that eps decides."""
    if not has(norm, "eps"):
        return
    network = disturb(model(norm, placement, norm__eps=0.02)).train()
    given = draw(1, dtype=torch.float32, shape=(2, 3, 16))
    given.x_BLD = 0.1 * given.x_BLD
    found = list(network.norms())
    assert len(found) >= 2 * len(PLACEMENTS[placement].norm_sites)
    for instance in found:
        wanted, _, _ = referred(instance, given)
        y_BLD = instance(given.x_BLD, given.mask_BL, given.cond_BLD)
        assert_close(y_BLD[given.valid_BL], wanted[given.valid_BL], 1e-6)


@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_every_instance_has_every_option(norm: str, placement: str) -> None:
    config = small(norm, placement).norm
    for instance in model(norm, placement).norms():
        assert type(instance) is NORMS[norm]
        assert all(getattr(instance.config, leaf) == getattr(config, leaf) for leaf in leaves(config))
