"""33 examples in batches of 32: the one left over is no batch to train a BatchNorm on, but it is evaluated."""

import math
from collections.abc import Callable

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.data.batch import Batch
from normtrial.records import list_runs


@pytest.mark.parametrize("norm", ["bn", "bn_pos"])
def test_a_last_batch_of_one_example(
    norm: str,
    trial: Callable[..., Config],
    train: Callable[[Config], float | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B27: 33 examples in batches of 32 train and evaluate."""
    sizes: list[int] = []
    backward = run.Loop._backward

    def noted(loop: run.Loop, batch: Batch, step: int, logged: bool) -> object:
        sizes.append(len(batch.targets))
        return backward(loop, batch, step, logged)

    monkeypatch.setattr(run.Loop, "_backward", noted)
    config = trial(f"norm={norm}", "data.limit=33", "data.batch_size=32", "train.steps=3")
    train(config)
    assert sizes == [32, 32, 32]
    summary = list_runs(config.store)[0].read_summary()
    assert summary is not None
    assert summary["status"] == "finished"
    assert summary["data"]["examples"]["val"] == 33
    for name in ("val/accuracy", "val/batch_stats/accuracy"):
        right = 33 * summary["metrics"][name]
        assert right == pytest.approx(round(right)), "every example counts once"
    assert math.isfinite(summary["metrics"]["val/batch_stats/loss_nats"])
