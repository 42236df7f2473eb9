"""Companion initializations: the published factors, on the published matrices, and on nothing else.

The draws are the same as everywhere: only their scale differs.
"""

import math

import pytest
import torch
from torch import Tensor

from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import model
from tests.norms.options import leaves

# By number of blocks N, from the papers: DeepNet, figure 2; Magneto, the table of encoder- or decoder-only.
FACTORS = {
    "deepnorm": lambda N: 1 / math.sqrt(math.sqrt(8 * N)),
    "subln": lambda N: math.sqrt(math.log(2 * N)),
}
SCALED = ("attention.output.weight", "mlp.input.weight", "mlp.output.weight")
QKV = "attention.qkv.weight"


def weights(placement: str, num_layers: int, **changes: str) -> dict[str, Tensor]:
    """Initial values of all matrices."""
    network = model("ln", placement, model__num_layers=num_layers, **changes)
    return {name: p.detach() for name, p in network.named_parameters() if p.ndim > 1}


def test_the_option_exists_exactly_where_there_is_something_to_take_or_leave() -> None:
    assert {name for name, cls in PLACEMENTS.items() if "init" in leaves(cls.Config)} == set(FACTORS)


@pytest.mark.parametrize("num_layers", [1, 2, 6])
@pytest.mark.parametrize("name", FACTORS)
def test_branches_are_scaled_and_nothing_else(name: str, num_layers: int) -> None:
    usual, plain, auto = (
        weights("pre", num_layers),
        weights(name, num_layers, placement__init="plain"),
        weights(name, num_layers),
    )
    factor = FACTORS[name](num_layers)
    assert plain.keys() == auto.keys() == usual.keys()
    for key, weight in usual.items():
        assert torch.equal(plain[key], weight), key
        wanted = weight.clone()
        if key.endswith(QKV):
            wanted[-len(wanted) // 3 :] *= factor  # values alone; queries and keys stay
        elif key.endswith(SCALED):
            wanted *= factor
        torch.testing.assert_close(auto[key], wanted)


@pytest.mark.parametrize("num_layers", [1, 2, 6])
def test_alpha_is_part_of_the_wiring_not_of_the_initialization(num_layers: int) -> None:
    for init in ("auto", "plain"):
        network = model("ln", "deepnorm", model__num_layers=num_layers, placement__init=init)
        for block in network.blocks:
            alpha = block.get_submodule("placement").alpha
            assert alpha == pytest.approx((2 * num_layers) ** (1 / 4))


def test_gates_start_closed_whatever_the_seed_and_are_not_decayed() -> None:
    for seed in (0, 1):
        network = model("none", "rezero", seed=seed)
        gates = {name: p for name, p in network.named_parameters() if "gate" in name}
        assert sorted(gates) == [f"blocks.{n}.placement.gate{g}" for n in (0, 1) for g in (1, 2)]
        assert all(gate.item() == 0 for gate in gates.values())
        undecayed = set(map(id, network.parameter_groups()[1]))
        assert {id(gate) for gate in gates.values()} <= undecayed


@pytest.mark.parametrize(("num_layers", "num_post"), [(1, 1), (2, 1), (4, 1), (7, 1), (8, 2), (12, 3), (24, 6)])
def test_a_quarter_of_the_blocks_is_post(num_layers: int, num_post: int) -> None:
    blocks = model("ln", "mix", model__num_layers=num_layers).blocks
    kinds = [type(block.get_submodule("placement.kind")).__name__ for block in blocks]
    assert kinds == ["Post"] * num_post + ["Pre"] * (num_layers - num_post)
