"""What norms add to the loss is minimized and logged beside it, never in it."""

from collections.abc import Callable
from pathlib import Path

from normtrial.config import Config
from normtrial.records import list_runs
from tests.support import comparable


def test_the_fine_of_rbn_is_minimized_and_logged(
    trial: Callable[..., Config], train: Callable[[Config], float | None], tmp_path: Path
) -> None:
    found = []
    for weight in (0.0, 10.0):
        config = trial(
            "norm=rbn", "norm.lambda_var=0", f"norm.lambda_mean={weight}", f"store={tmp_path / str(weight)}"
        )
        train(config)
        (folder,) = list_runs(config.store)
        found.append([row for row in comparable(folder) if "train/loss_nats" in row])
    without, fined = found
    assert [row["train/penalty_nats"] for row in without] == [0] * 6
    assert all(row["train/penalty_nats"] > 0 for row in fined)
    assert without[0]["train/loss_nats"] == fined[0]["train/loss_nats"], "no part of the loss that is logged"
    assert without[0]["grad/global_norm"] != fined[0]["grad/global_norm"]
    assert without[-1]["train/loss_nats"] != fined[-1]["train/loss_nats"]
