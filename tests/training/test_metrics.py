"""Metrics against values worked out by hand, and the table they stand in."""

import math

import numpy as np
import pytest

from normtrial.training.metrics import (
    METRICS,
    Predictions,
    accuracy,
    accuracy_se,
    bits_per_byte,
    bits_per_char,
    find,
    loss_nats,
    loss_nats_se,
    macro_f1,
    perplexity,
    score,
)

# Class 0: 2 hits, 1 taken for 1. Class 1: 1 hit, 1 taken for 2. Class 2: never right. Class 3: absent.
FIVE = Predictions(
    loss=np.array([0.5, 1.0, 1.5, 2.0, 2.5]),
    predicted=np.array([0, 0, 1, 1, 2]),
    labels=np.array([0, 0, 0, 1, 1]),
)


def test_classification_by_hand() -> None:
    assert loss_nats(FIVE) == 1.5
    assert loss_nats_se(FIVE) == pytest.approx(math.sqrt(2.5 / 4 / 5))  # squares 1 + 1/4 + 0 + 1/4 + 1, over n - 1
    assert accuracy(FIVE) == 0.6
    assert accuracy_se(FIVE) == pytest.approx(math.sqrt(0.6 * 0.4 / 5))
    # F1: class 0: 4 / (4 + 0 + 1); class 1: 2 / (2 + 1 + 1); class 2: 0
    assert macro_f1(FIVE) == pytest.approx((0.8 + 0.5 + 0.0) / 3)


def test_perfect_and_single_predictions() -> None:
    one = Predictions(np.array([0.25]), np.array([3]), np.array([3]))
    assert (accuracy(one), accuracy_se(one), macro_f1(one), loss_nats(one)) == (1.0, 0.0, 1.0, 0.25)
    assert math.isnan(loss_nats_se(one))


def test_language_model_by_hand() -> None:
    windows = Predictions(np.array([math.log(2), 3 * math.log(2)]), tokens_per_char=0.25, tokens_per_byte=0.125)
    assert perplexity(windows) == pytest.approx(4.0)  # exp of the mean, not the mean of exp
    assert bits_per_char(windows) == pytest.approx(0.5)  # 2 bits a token, a quarter token a character
    assert bits_per_byte(windows) == pytest.approx(0.25)
    assert perplexity(Predictions(np.array([1e4]))) == math.inf


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stays_so(value: float) -> None:
    broken = Predictions(np.array([1.0, value]), tokens_per_char=0.25)
    with np.errstate(invalid="ignore"):
        assert not math.isfinite(loss_nats(broken))
        assert not math.isfinite(loss_nats_se(broken))
    assert not math.isfinite(perplexity(broken))
    assert not math.isfinite(bits_per_char(broken))
    assert not math.isfinite(bits_per_byte(broken))


def test_a_task_gets_its_metrics_only() -> None:
    assert set(score(FIVE, "classification", "val")) == {
        "val/loss_nats", "val/loss_nats_se", "val/accuracy", "val/accuracy_se", "val/macro_f1",
    }  # fmt: skip
    windows = Predictions(np.array([1.0, 2.0]), tokens_per_char=0.25)
    assert set(score(windows, "lm", "test/batch_stats")) == {
        f"test/batch_stats/{name}"
        for name in ("loss_nats", "loss_nats_se", "perplexity", "bits_per_char", "bits_per_byte")
    }


def test_every_row_of_the_table_says_all() -> None:
    for metric in METRICS:
        assert metric.unit
        assert metric.description
        assert metric.direction in ("min", "max", None)
    patterns = [metric.pattern for metric in METRICS]
    assert len(set(patterns)) == len(patterns)


def test_a_name_belongs_to_one_row() -> None:
    names = [
        "val/accuracy",
        "test/batch_stats/loss_nats_se",
        "grad/block03.norm1/norm",
        "grad/global_norm",
        "optim/lr",
    ]
    for name in names:
        assert sum(metric.matches(name) for metric in METRICS) == 1
        assert find(name) is not None
    assert find("val/loss_nats_sex") is None
    assert find("xval/loss_nats") is None
