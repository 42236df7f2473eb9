"""Micro-batches: the gradients of the whole batch where a norm looks at one example only; refused if unequal."""

import pytest
import torch
from torch import Tensor

from normtrial.config import Config
from normtrial.data.batch import Batch
from normtrial.errors import ConfigError
from normtrial.identity import run_id
from normtrial.network.model import Transformer
from normtrial.norms.catalogue import NORMS
from normtrial.training.accumulate import backward, check_shares, micro_batches
from normtrial.training.ranks import Ranks
from tests.network.models import CLASSES, build, disturb, lengths_mask, small, tokens
from tests.norms.options import TASKS, legal, settings
from tests.training.toy import make_loop

LENGTHS = [7, 4, 1, 6, 3, 5]


def batch(task: str) -> Batch:
    tokens_BL = tokens(0, B=6)
    if task == "lm":
        return Batch(tokens_BL, None, tokens(1, B=6))
    return Batch(tokens_BL, lengths_mask(LENGTHS, 7), tokens_BL[:, 0] % CLASSES)


def step(norm: str, task: str, num: int, tmp_path_factory: pytest.TempPathFactory) -> tuple[Tensor, Transformer]:
    """Loss of one backward pass in so many micro-batches, and the model with its gradients; in float64."""
    model = disturb(build(small(norm, "pre", task))).double()
    loop = make_loop(tmp_path_factory.mktemp("run"), {"accumulate": num}, model=model, penalty=model.penalty)
    loss, _ = backward(loop.s, batch(task), lambda loss: loss)
    loop.s.sinks.finish({})
    return loss, model


def gradients(model: Transformer) -> dict[str, Tensor]:
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def mixes(norm: str) -> bool:
    return NORMS[norm].mixes_examples(settings(f"norm={norm}").norm)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("norm", [norm for norm in NORMS if not mixes(norm)])
def test_gradients_are_those_of_the_whole_batch(
    norm: str, task: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not legal(norm, task):
        return
    whole_loss, whole = step(norm, task, 1, tmp_path_factory)
    for num in (2, 6) if norm == "ln" else (3,):
        loss, model = step(norm, task, num, tmp_path_factory)
        assert abs(loss - whole_loss) < 1e-6
        expected, found = gradients(whole), gradients(model)
        assert found.keys() == expected.keys()
        for name, gradient in found.items():
            torch.testing.assert_close(gradient, expected[name], rtol=1e-6, atol=1e-9, msg=name)


def test_a_norm_over_the_batch_sees_micro_batches(tmp_path_factory: pytest.TempPathFactory) -> None:
    (whole_loss, whole), (loss, model) = (step("bn", "classification", num, tmp_path_factory) for num in (1, 2))
    counts = [next(network.norms()).get_buffer("num_batches_tracked").item() for network in (whole, model)]
    assert counts == [1, 2], "running statistics move once a micro-batch"
    assert abs(loss - whole_loss) > 1e-3


def test_the_fine_of_a_step_is_the_mean_over_micro_batches(tmp_path_factory: pytest.TempPathFactory) -> None:
    model = build(small("rbn", "pre"))
    loop = make_loop(tmp_path_factory.mktemp("run"), {"accumulate": 2}, model=model, penalty=model.penalty)
    fines: list[float] = []

    def noted() -> Tensor | None:
        penalty = model.penalty()
        assert penalty is not None
        fines.append(penalty.item())
        return penalty

    loop.s.penalty = noted
    _, fine = backward(loop.s, batch("classification"), lambda loss: loss)
    loop.s.sinks.finish({})
    assert len(set(fines)) == 2
    assert fine == pytest.approx(sum(fines) / 2)


def test_shares_are_padded_as_the_whole_is() -> None:
    whole = batch("classification")
    parts = list(micro_batches(whole, 3))
    assert [share for share, _ in parts] == [1 / 3] * 3
    assert [part.num_tokens for _, part in parts] == [11, 7, 8]
    assert torch.equal(torch.cat([part.tokens_BL for _, part in parts]), whole.tokens_BL)
    ((share, part),) = micro_batches(Ranks().share(whole), 1)
    assert (share, len(part.targets)) == (1.0, 6)


def shared(norm: str, num: int) -> Config:
    return settings(f"norm={norm}", values={"data.batch_size": 8, "train.accumulate": num})


def test_accumulation_makes_another_run() -> None:
    assert run_id(shared("ln", 2), "text") != run_id(shared("ln", 1), "text")


@pytest.mark.parametrize(
    ("norm", "num", "message"),
    [
        ("ln", 3, "data.batch_size=8 cannot be cut into train.accumulate=3 equal micro-batches"),
        ("bn", 8, "leaves it a single example with train.accumulate=8"),
        ("ln", 0, "train.accumulate=0 must be at least 1"),
    ],
)
def test_what_cannot_work_is_refused_before_training(norm: str, num: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        shared(norm, num)
    with pytest.raises(ConfigError, match="on each of 2 processes; make it a multiple of 8"):
        check_shares(12, 4, num_ranks=2)
