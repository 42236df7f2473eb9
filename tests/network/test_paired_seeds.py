"""One seed, one start: arms that differ in norm or placement have the same initial weights and the same data."""

import math

import pytest
import torch
from torch import Tensor, nn

from normtrial.data import catalogue
from normtrial.data.sources.source import SPLITS, Document
from normtrial.network.model import Transformer
from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import build, model, small, tokens
from tests.norms.options import PAIRS, TASKS, leaves, legal

BOTH_TASKS = pytest.mark.parametrize("task", TASKS)


def shared(network: Transformer) -> dict[str, Tensor]:
    """Parameters outside the norms, by name."""
    inside = {id(p) for norm in network.norms() for p in norm.parameters()}
    return {name: p.detach() for name, p in network.named_parameters() if id(p) not in inside}


@BOTH_TASKS
def test_same_seed_same_weights_whatever_the_norm_and_its_placement(task: str) -> None:
    first = shared(model(*PAIRS[0], task))
    assert first
    for norm, placement in PAIRS:
        if legal(norm, task):
            torch.rand(7)  # the global generator plays no part
            plain = {"placement__init": "plain"} if "init" in leaves(PLACEMENTS[placement].Config) else {}
            other = shared(model(norm, placement, task, **plain))
            common = first.keys() & other.keys()
            assert {"embedding.weight", "blocks.1.attention.qkv.weight", "blocks.0.mlp.output.weight"} <= common
            assert all(torch.equal(first[name], other[name]) for name in common), (norm, placement)


@pytest.mark.parametrize("placement", sorted({placement for _, placement in PAIRS}))
def test_norms_differ_in_nothing_but_themselves(placement: str) -> None:
    names = [shared(model(norm, p)).keys() for norm, p in PAIRS if p == placement]
    assert all(other == names[0] for other in names)


def test_another_seed_gives_other_matrices_and_deeper_models_share_the_first_layers() -> None:
    first, second = (shared(model(*PAIRS[0], seed=seed)) for seed in (0, 1))
    for name, weight in first.items():
        assert torch.equal(weight, second[name]) == (weight.ndim < 2), name
    deeper = shared(model(*PAIRS[0], model__num_layers=3))
    assert all(torch.equal(weight, deeper[name]) for name, weight in first.items())


def test_initial_spread_is_what_the_docstring_says() -> None:
    network = model(*PAIRS[0], model__d_model=128, model__d_ff=512)
    block = network.blocks[0]
    for weight, spread in (
        (block.get_submodule("attention.qkv").weight, math.sqrt(2 / 256)),
        (block.get_submodule("attention.output").weight, math.sqrt(2 / 256)),
        (block.get_submodule("mlp.input").weight, math.sqrt(2 / 640)),
        (network.embedding.weight, 128**-0.5),
    ):
        assert isinstance(weight, Tensor)
        assert weight.std().item() == pytest.approx(spread, rel=0.05)


@BOTH_TASKS
def test_first_batch_is_the_same_in_every_arm(task: str, tmp_path, monkeypatch) -> None:
    class Toy:
        kind, name, licence, identity, official_test = task, "toy", "ours", "toy", False

        def documents(self, cache):
            for split in SPLITS:  # each unlike the others, for duplicates are dropped
                yield from (Document(f"{split} {n} says {n * n}", split, "ab"[n % 2]) for n in range(32))

    monkeypatch.setitem(catalogue.SOURCES, "toy", Toy())
    batches = []
    for norm, placement in PAIRS:
        if legal(norm, task):
            changes = {"data__source": "toy", "data__batch_size": 4, "data__vocab_size": 300}
            config = small(norm, placement, task, **changes)
            build(config)
            batches.append(catalogue.load(config.data, tmp_path).train_batch(0, config.seed))
    for batch in batches:
        assert torch.equal(batch.tokens_BL, batches[0].tokens_BL)
        assert torch.equal(batch.targets, batches[0].targets)


@BOTH_TASKS
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
@pytest.mark.parametrize("tie", [True, False], ids=["tied", "untied"])
def test_exactly_the_matrices_of_linear_maps_outside_norms_decay(
    norm: str, placement: str, task: str, tie: bool
) -> None:
    if not legal(norm, task) or (task == "classification" and not tie):
        pytest.skip("refused")
    network = model(norm, placement, task, model__tie=tie)
    decayed, undecayed = network.parameter_groups()
    assert sorted(map(id, decayed + undecayed)) == sorted(map(id, network.parameters()))
    inside = {id(p) for found in network.norms() for p in found.parameters()}
    wanted = {
        id(module.weight)
        for module in network.modules()
        if isinstance(module, nn.Linear) and id(module.weight) not in inside | {id(network.embedding.weight)}
    }
    assert {id(p) for p in decayed} == wanted
    assert (id(network.head.output.weight) in wanted) == (task == "classification" or not tie)


def test_tied_head_shares_the_embedding_and_still_learns() -> None:
    network = model(*PAIRS[0], "lm", model__tie=True)
    assert network.head.output.weight is network.embedding.weight
    network(tokens(0)).square().mean().backward()
    assert network.embedding.weight.grad is not None
