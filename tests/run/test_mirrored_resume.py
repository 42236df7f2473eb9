"""W&B after a kill behind a checkpoint: one run, whose curve over our own step has no hole and no second value."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.records import list_runs
from tests.support import comparable, wandb_records


def segment(folder: Path) -> tuple[str, dict[int, float], list[int]]:
    """Run id, loss by our own step, and the counter of plateaus of one session of W&B, by its own reader."""
    records = wandb_records(folder)
    items = [record["item"] for record in records["history"]]
    losses = {item["step"]: item["train/loss_nats"] for item in items if "train/loss_nats" in item}
    counts = [item["events/plateau"] for item in items if "events/plateau" in item]
    (identifier,) = {record["run_id"] for record in records["run"]}
    return identifier, losses, counts


@pytest.mark.slow
def test_curves_line_up_and_counters_go_on(
    trial: Callable[..., Config], train: Callable[[Config], float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B55: checkpoint after step 4, crash in step 6. Nothing is learned, so step 3 counts a plateau before."""
    config = trial(
        *("log=wandb", "log.project=normtrial-test", "train.checkpoint_every=4", "optim.lr=1e-9"),
        "train.eval_every=1",
        "norm=bn",
    )
    step = run.Loop._step
    with monkeypatch.context() as patch:
        patch.setattr(run.Loop, "_step", lambda loop, at: step(loop, at) if at < 6 else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(config)
    (folder,) = list_runs(config.store)
    time.sleep(1.1)  # W&B names a session by the second
    train(config)
    before, after = (segment(path) for path in sorted((folder.path / "wandb").glob("offline-run-*")))
    assert before[0] == after[0] == folder.run_id
    assert (list(before[1]), list(after[1])) == ([1, 2, 3, 4, 5], [5, 6])
    assert before[1][5] == after[1][5], "the step that was taken twice has one value"
    logged = {row["step"]: row["train/loss_nats"] for row in comparable(folder) if "train/loss_nats" in row}
    assert before[1] | after[1] == pytest.approx(logged)
    assert set(before[2]) == set(before[2] + after[2]) == {1}, "counted once"
