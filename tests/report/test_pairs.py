import math
import random

import numpy as np
import pytest
from scipy import stats

from normtrial.report.inference import t_interval, wilson
from normtrial.report.pairs import mean_interval, paired_difference


def test_a_paired_difference_is_scipys_and_leaves_out_what_has_no_partner() -> None:
    draw = random.Random(0)
    theirs = {seed: draw.gauss(0, 5) for seed in range(8)}
    ours = {seed: value + draw.gauss(0.3, 0.1) for seed, value in theirs.items()}
    found = paired_difference({**ours, 99: 1e9}, {**theirs, 98: -1e9})
    test = stats.ttest_rel([ours[seed] for seed in range(8)], [theirs[seed] for seed in range(8)])
    expected = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert found.low > 0, "unpaired, the spread over seeds would hide it"
    unpaired = mean_interval(list(ours.values()))
    assert unpaired.high - unpaired.low > 10 * (found.high - found.low)


def test_a_value_that_is_not_finite_leaves_no_interval() -> None:
    """A diverged loss: the mean of the others would flatter the arm."""
    found = mean_interval([0.5, math.inf, 0.6])
    assert math.isinf(found.estimate)
    assert math.isnan(found.low)
    assert math.isnan(mean_interval([]).estimate)
    assert math.isnan(paired_difference({0: 1.0}, {1: 1.0}).estimate)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    draws = np.random.default_rng(0).normal(size=(2000, 3))
    held = [(found := t_interval(list(row))).low <= 0 <= found.high for row in draws]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)
    assert wilson(1, 3).low > 0
    assert wilson(3, 3).high == 1.0
