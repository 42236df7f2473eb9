"""What a run remembers of its own numbers."""

import json
import math

from normtrial.training.state import Progress


def test_best_follows_each_metric_in_its_direction() -> None:
    progress = Progress()
    for step, (loss, accuracy) in enumerate([(2.0, 0.5), (1.0, 0.4), (1.5, 0.7), (1.0, 0.7), (math.nan, 0.6)], 1):
        progress.note({"step": step, "val/loss_nats": loss, "val/accuracy": accuracy, "val/loss_nats_se": 0.1})
    assert progress.best == {"val/loss_nats": [1.0, 2], "val/accuracy": [0.7, 3]}, "the first of equals; never nan"
    assert math.isnan(progress.metrics["val/loss_nats"])
    assert "step" not in progress.metrics


def test_test_scores_and_training_rows_have_no_best() -> None:
    progress = Progress()
    progress.note({"step": 1, "test/accuracy": 0.5, "train/loss_nats": 2.0, "grad/global_norm": 1.0})
    assert progress.best == {}
    assert progress.metrics == {"test/accuracy": 0.5, "train/loss_nats": 2.0, "grad/global_norm": 1.0}


def test_it_comes_back_from_a_checkpoint() -> None:
    progress = Progress(step=7, seconds=1.5)
    progress.note({"step": 7, "val/accuracy": 0.5})
    progress.count("plateau")
    progress.count("plateau")
    assert progress.events == {"plateau": 2}
    assert Progress(**json.loads(json.dumps(progress.as_dict()))) == progress
