"""Evaluation leaves no trace, sees every example once, and loses no precision.

Shapes: B examples, L positions, C classes, V vocabulary.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from normtrial import run
from normtrial.config import Config
from normtrial.data import catalogue
from normtrial.data.batch import Batch, Task
from normtrial.norms.base import evaluating_with
from normtrial.training.evaluation.predict import losses, mean_loss, predict
from tests.training.toy import TASK, Bag, RandomText


@pytest.mark.parametrize("statistics", ["running", "batch"])
@pytest.mark.parametrize("training", [True, False])
def test_evaluation_leaves_no_trace(
    statistics: str, training: bool, trial: Callable[..., Config], cache: Path
) -> None:
    config = trial("norm=bn")
    data = catalogue.load(config.data, cache)
    model = run.build_model(config, data)
    batch = data.train_batch(0, 0)
    mean_loss(model(batch.tokens_BL, batch.mask_BL), batch.targets).backward()
    model.train(training)

    def state() -> dict[str, torch.Tensor]:
        gradients = {f"{name}.grad": p.grad for name, p in model.named_parameters() if p.grad is not None}
        found = {**model.state_dict(), **gradients, "random": torch.get_rng_state()}
        return {name: value.clone() for name, value in found.items()}

    before = state()
    assert any("running" in name for name in before)
    assert any("grad" in name for name in before)
    with evaluating_with(model, statistics):
        predictions = predict(model, data.eval_batches("val"), data.task)
    after = state()
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(module.training is training for module in model.modules())
    assert len(predictions.loss) == 16
    other = "batch" if statistics == "running" else "running"
    with evaluating_with(model, other):
        assert not np.array_equal(predict(model, data.eval_batches("val"), data.task).loss, predictions.loss)


def test_the_mode_comes_back_after_a_failure() -> None:
    model = Bag()
    with pytest.raises(ZeroDivisionError):
        predict(model, (1 / 0 for _ in "a"), TASK)  # pyright: ignore[reportArgumentType]
    assert model.training


def test_every_example_counts_once_in_order() -> None:
    model, text = Bag().eval(), RandomText()
    found = predict(model, text.eval_batches("val"), TASK)
    batches = list(text.eval_batches("val"))
    tokens_BL = torch.cat([batch.tokens_BL for batch in batches])
    targets_B = torch.cat([batch.targets for batch in batches])
    with torch.no_grad():
        logits_BC = model(tokens_BL)
    expected = -torch.log_softmax(logits_BC, -1)[torch.arange(8), targets_B]
    assert found.labels is not None
    assert found.predicted is not None
    assert found.labels.tolist() == targets_B.tolist()
    assert found.predicted.tolist() == logits_BC.argmax(-1).tolist()
    np.testing.assert_allclose(found.loss, expected.numpy(), rtol=1e-5)
    assert found.loss.dtype == np.float64


def test_a_window_of_a_language_model_is_one_entry() -> None:
    task = Task("lm", 4, 4, (), 1.0, None, {"val": 0.5})
    logits_BLV = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0))
    targets_BL = torch.arange(15).view(3, 5) % 4

    class Fixed(torch.nn.Module):
        def forward(self, tokens_BL: torch.Tensor, mask_BL: torch.Tensor | None = None) -> torch.Tensor:
            return logits_BLV

    found = predict(
        Fixed(), [Batch(targets_BL, None, targets_BL)], task, tokens_per_char=0.5, tokens_per_byte=0.25
    )
    each = losses(logits_BLV, targets_BL)
    assert each.shape == (3, 5)
    np.testing.assert_allclose(found.loss, each.mean(1).numpy(), rtol=1e-6)
    assert found.loss.mean() == pytest.approx(mean_loss(logits_BLV, targets_BL).item(), rel=1e-6)
    assert (found.predicted, found.tokens_per_char, found.tokens_per_byte) == (None, 0.5, 0.25)


def test_losses_are_computed_in_float32_or_better() -> None:
    logits = torch.tensor([[10.0, 0.0, 0.0]])
    target = torch.tensor([0])
    exact = math.log1p(2 * math.exp(-10))
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        for value in (losses(logits.to(dtype), target)[0], mean_loss(logits.to(dtype), target)):
            assert value.item() == pytest.approx(exact, rel=2e-3)
            assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
