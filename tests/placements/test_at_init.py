"""Every norm in every placement, on both tasks: the first step is finite and every site accounted for.

Shapes: B examples, L positions.
"""

import math

import pytest
import torch

from normtrial.network.model import Transformer
from normtrial.norms.heads import QK_NORMS
from normtrial.probes.gradients import GradientNorms
from normtrial.training.evaluation.predict import mean_loss
from tests.goldens.trajectories import trajectory
from tests.network.models import CLASSES, disturb, lengths_mask, model, tokens
from tests.norms.options import EVERY_PAIR, PAIRS, TASKS, legal, usual_norm


def step(network: Transformer, task: str) -> torch.Tensor:
    """Loss of a batch, after its backward pass."""
    tokens_BL = tokens(0)
    if task == "lm":
        loss = mean_loss(network(tokens_BL[:, :-1]), tokens_BL[:, 1:])
    else:
        loss = mean_loss(network(tokens_BL, lengths_mask([7, 4, 2, 6], 7)), tokens_BL[:, 0] % CLASSES)
    loss.backward()
    return loss.detach()


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_first_step_is_finite(norm: str, placement: str, task: str) -> None:
    if not legal(norm, task):
        pytest.skip("refused")
    network = model(norm, placement, task)
    assert step(network, task).isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in network.parameters())


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    ("norm", "placement", "qk_norm"),
    [
        *((*pair, "none") for pair in PAIRS),
        *(("ln", name, kind) for name in ("pre", "subln") for kind in QK_NORMS),
    ],
)
def test_squares_of_all_sites_add_up_to_the_global_norm(
    norm: str, placement: str, qk_norm: str, task: str
) -> None:
    """Each parameter counts at one site: a norm inside attention not again in attention, a tied matrix once."""
    if not legal(norm, task):
        pytest.skip("refused")
    network = disturb(model(norm, placement, task, model__qk_norm=qk_norm))
    step(network, task)
    total = sum(p.grad.double().square().sum().item() for p in network.parameters() if p.grad is not None)
    norms = GradientNorms(network.sites()).measure().values()
    assert sum(float(norm) ** 2 for norm in norms) == pytest.approx(total, rel=1e-5)


def test_sites_have_the_names_that_are_public() -> None:
    """In the order of the forward pass; block 1 is like block 0."""
    wanted = {
        ("subln", "none"): "norm1 attention.inner_norm attention norm2 mlp.inner_norm mlp",
        ("hybrid", "none"): "attention.q_norm attention.k_norm attention.v_norm attention norm1 mlp",
        ("pre", "rms"): "norm1 attention.q_norm attention.k_norm attention norm2 mlp",
        ("subln", "l2"): (
            "norm1 attention.q_norm attention.k_norm attention.inner_norm attention norm2 mlp.inner_norm mlp"
        ),
        ("post", "none"): "attention norm1 mlp norm2",
        ("sandwich", "none"): "norm1 attention norm2 norm3 mlp norm4",
        ("rezero", "none"): "attention mlp placement",
    }
    for (placement, qk_norm), names in wanted.items():
        sites = list(model(usual_norm(placement), placement, model__qk_norm=qk_norm).sites())
        assert [site for site in sites if site.startswith("block00")] == [f"block00.{n}" for n in names.split()]
    mixed = list(model("ln", "mix").sites())
    assert mixed[2:10] == [
        *(f"block00.{name}" for name in ("attention", "norm1", "mlp", "norm2")),
        *(f"block01.{name}" for name in ("norm1", "attention", "norm2", "mlp")),
    ]
    assert list(model("ln", "peri").sites())[:3] == ["embed", "positions", "embed_norm"]
    assert mixed[-2:] == ["final_norm", "head"]


@pytest.mark.parametrize("placement", ["rezero", "none"])
def test_without_norms_there_are_none_but_one_that_is_asked_for(placement: str) -> None:
    assert not list(model("none", placement).norms())
    assert len(list(model("ln", placement, model__embed_norm=True).norms())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("norm", "placement"), EVERY_PAIR)
def test_ten_steps_are_finite(norm: str, placement: str, task: str) -> None:
    if not legal(norm, task):
        pytest.skip("refused")
    steps = trajectory(f"{norm}/{placement}/{task}")
    assert all(map(math.isfinite, steps["loss_nats"] + steps["gradient_norm"]))
