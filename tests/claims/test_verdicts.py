"""The rules of a verdict, the statistics behind them, and that both are what they are said to be."""

import numpy as np
import pytest
from scipy import stats

from normtrial.claims.claim.training import Prediction
from normtrial.claims.judging import validity
from normtrial.claims.judging.verdict import decide
from normtrial.report import inference
from normtrial.report.inference import Interval

UP = Prediction(direction="up", smallest=0.01, size=0.07)
SIZELESS = Prediction(direction="up", smallest=0.01)
EQUAL = Prediction(direction="equal", smallest=0.01)
NOT_WORSE = Prediction(direction="not_worse", smallest=0.01)


@pytest.mark.parametrize(
    ("low", "high", "prediction", "verdict"),
    [
        (-0.009, 0.009, UP, "no effect"),
        (0.002, 0.008, UP, "no effect"),  # away from 0, but nothing of interest
        (0.02, 0.08, UP, "reproduced"),
        (0.02, 0.06, UP, "direction only"),  # the claimed size is out of reach
        (0.02, 0.06, SIZELESS, "reproduced"),
        (0.005, 0.06, SIZELESS, "direction only"),
        (-0.06, -0.02, UP, "contradicted"),
        (-0.02, 0.07, UP, "inconclusive"),  # the claimed size is not excluded
        (-0.02, 0.05, UP, "size excluded"),
        (-0.02, 0.05, SIZELESS, "inconclusive"),
        (-0.01, 0.0, SIZELESS, "inconclusive"),  # bounds are open
        (-0.009, 0.009, EQUAL, "reproduced"),
        (0.02, 0.06, EQUAL, "contradicted"),
        (-0.06, -0.02, EQUAL, "contradicted"),
        (0.005, 0.06, EQUAL, "inconclusive"),
        (-0.005, 0.06, NOT_WORSE, "reproduced"),
        (-0.02, 0.06, NOT_WORSE, "inconclusive"),
        (-0.02, -0.005, NOT_WORSE, "inconclusive"),  # worse, perhaps by nothing of interest
        (-0.06, -0.02, NOT_WORSE, "contradicted"),
    ],
)
def test_the_first_rule_that_holds(low: float, high: float, prediction: Prediction, verdict: str) -> None:
    assert decide(Interval((low + high) / 2, low, high), prediction) == verdict
    if prediction.direction == "up":
        down = Prediction(direction="down", smallest=prediction.smallest, size=prediction.size)
        assert decide(Interval(-(low + high) / 2, -high, -low), down) == verdict


def test_the_interval_is_students() -> None:
    values = [0.1, 0.4, 0.2, 0.5, 0.9]
    found = inference.t_interval(values)
    wanted = stats.ttest_1samp(values, 0).confidence_interval()  # type: ignore[union-attr]
    assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high))
    assert inference.t_p_value(values) == pytest.approx(inference.p_of(lambda a: inference.t_interval(values, a)))


def test_holm_rejects_what_the_textbook_does() -> None:
    p_values = [0.01, 0.04, 0.03, 0.005]
    levels = inference.holm_levels(p_values)
    assert levels == pytest.approx([0.05 / 3, 0.025, 0.025, 0.0125])
    assert [p <= level for p, level in zip(p_values, levels, strict=True)] == [True, False, False, True]


def test_the_fewest_seeds_are_the_fewest() -> None:
    def settled(interval: Interval) -> bool:
        return interval.low > 0

    num = inference.seeds_until(settled, 1.0, 2.0, 5)
    assert num is not None
    halves = [stats.t.ppf(0.975, n - 1) * 2 / np.sqrt(n) for n in (num - 1, num)]
    assert halves[0] >= 1 > halves[1]
    assert inference.seeds_until(settled, 0.0, 1.0, 5) is None


NOISE = [name for name in validity.NOISE if "very" not in name]


@pytest.mark.parametrize("noise", NOISE)
def test_the_95_percent_interval_of_a_difference_holds_95_percent(noise: str) -> None:
    found = validity.coverage(validity.t_limits, validity.NOISE[noise], 5, 20_000)
    assert 0.93 <= found <= 0.97


def test_what_the_interval_does_not_hold_is_known() -> None:
    """One arm alone noisy and skewed: too little, and said so in results/claims/validity.md."""
    skewed = validity.NOISE["skewed (exponential)"]
    assert 0.86 < validity.coverage(validity.t_limits, skewed, 5, 20_000, paired=False) < 0.90
    assert validity.coverage(validity.t_limits, skewed, 80, 20_000, paired=False) > 0.93


@pytest.mark.slow
def test_verdicts_on_nothing_are_seldom_wrong() -> None:
    for row in validity.error_rates(3_000, 5):
        error = 3 * np.sqrt(0.05 * 0.95 / row.times) if row.times else 0.0
        assert row.figure <= 0.05 + error, row


def test_the_detectable_effect_is_detected() -> None:
    for row in validity.power(2_000):
        assert row.figure >= 0.77, row


def test_the_detectable_rate_is_detected() -> None:
    """Drawn anew: in 80 % of experiments an arm that fails at this rate differs from one that never does."""
    rate = inference.detectable_rate(20, 0.01)
    assert rate is not None
    failing = np.random.default_rng(0).binomial(20, rate, 2_000)
    found = [inference.rate_difference((int(k), 20), (0, 20), 0.01).low > 0 for k in range(21)]
    assert np.mean([found[k] for k in failing]) == pytest.approx(0.8, abs=0.03)
    assert inference.detectable_rate(2) is None


@pytest.mark.slow
def test_the_whole_table_holds() -> None:
    for row in validity.measure(20_000):
        if row.what.startswith("coverage, t,") and "two noisy arms" in row.what and "very" not in row.noise:
            assert 0.93 <= row.figure <= 0.97, row
        if row.promised == "at most 0.05":
            assert row.figure <= 0.055, row


def test_a_narrower_interval_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were intervals a third narrower, the simulation would say so."""
    limits = validity.t_limits

    def narrow(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        low, high = limits(values)
        centre, half = (low + high) / 2, (high - low) / 3
        return centre - half, centre + half

    assert validity.coverage(narrow, validity.NOISE["normal"], 5, 5_000) < 0.93
