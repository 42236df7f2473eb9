"""Largest usable rates: what a run at each rate of the grid says, and arms that train at none."""

import math
import re
from pathlib import Path

import pytest

from normtrial.claims.judging.evidence import Evidence, RunRecord
from normtrial.claims.judging.judged import Finding
from normtrial.claims.judging.outcomes import largest_rate
from normtrial.claims.trials.needs import arm_at
from tests.claims.made import CLAIM, claim, evidence, run
from tests.claims.test_judge import finding

RATES = CLAIM.replace("grid: []", "grid: [0.001, 0.002, 0.004, 0.008]").replace(
    "select: null", "select: val/accuracy"
)
RATES = RATES.replace("test/accuracy, read: final", "val/loss_nats, read: largest_rate").replace(
    "size: 0.07, smallest: 0.01", "size: 1.609, smallest: 0.7"
)
RATES = RATES[: RATES.index("gates:")] + "gates: {}\nrule: paired\nfamily: made\n"


def test_the_largest_usable_rate_is_below_the_first_that_fails() -> None:
    def ending(loss: float, status: str = "finished") -> RunRecord:
        return run("a=1", 0, status=status, series={"val/loss_nats": [(200, loss)]})

    def largest(*runs: RunRecord) -> float:
        rates = (0.001, 0.003, 0.01, 0.03)
        return math.exp(largest_rate(dict(zip(rates, runs, strict=False)), "val/loss_nats"))

    good, stuck = ending(0.5), ending(0.69)  # of 0.693
    assert largest(good, stuck, good) == pytest.approx(0.001)
    assert largest(good, good, ending(0.5, "diverged")) == pytest.approx(0.003)
    assert largest(stuck, good, good, stuck) == pytest.approx(0.01)  # the smallest is too slow, not too large
    assert largest(ending(0.5, "diverged")) == largest(stuck, stuck) == pytest.approx(0.0005)


@pytest.mark.parametrize(
    ("ln", "bn", "verdict"),
    [
        (0.004, 0.001, "direction only"),  # between 2 and 8 times as large
        (0.004, 0.002, "size excluded"),  # anything from as large to 4 times; 5 are claimed
        (0.002, 0.002, "no effect"),  # less than twice either way
        (0.008, 0.001, "reproduced"),  # at least 4 times: the grid ends
        (0.001, 0.008, "contradicted"),
        (0.008, 0.008, "inconclusive"),
        (0.008, 0.0, "reproduced"),
        (0.0, 0.0, "not testable on this task"),
    ],
)
def test_largest_rates_are_known_to_a_notch_of_the_grid(
    tmp_path: Path, ln: float, bn: float, verdict: str
) -> None:
    one = claim(tmp_path, RATES)
    found: Evidence = {}
    for arm, largest in (("ln", ln), ("bn", bn)):
        for rate in one.grid:
            for seed in one.seeds.judge:
                loss = {"val/loss_nats": [(200, 0.5 if rate <= largest else 0.7)]}
                record = run(arm_at(one, arm, rate), seed, series=loss)
                found[record.trial] = record
    judged = finding(one, found)
    effect = math.log(max(bn, 0.0005) / max(ln, 0.0005))  # where none trains half of the smallest counts
    assert judged.verdict == verdict
    assert judged.effect == (None if "not testable" in verdict else pytest.approx(effect))
    if judged.interval is not None and judged.p is not None:  # Holm's p knows the grid's brackets, too
        assert (judged.p < 0.05) == (not judged.interval[0] <= 1e-9 or not judged.interval[1] >= -1e-9)


def test_arms_that_do_not_train_say_nothing_of_each_other(tmp_path: Path) -> None:
    text = RATES.replace("read: largest_rate", "read: final").replace("select: val/accuracy", "select: null")
    one = claim(tmp_path, re.sub(r"grid: .*", "grid: []", text))
    stuck, trained = [0.69] * 8, [0.5 + 0.01 * seed for seed in range(8)]
    found = finding(one, evidence(one, {"ln": stuck, "bn": stuck}, "val/loss_nats"))
    assert found.verdict == "not testable on this task" and found.notes[-1] == "in most seeds no arm trains"
    found = finding(one, evidence(one, {"ln": trained, "bn": stuck}, "val/loss_nats"))
    assert found.effect == pytest.approx(0.155)
    assert found.notes == ["bn: in 8 of 8 seeds it does not train, counted"]


def test_a_model_at_chance_has_nothing_to_lose(tmp_path: Path) -> None:
    shuffled = "test/shuffle_words_0.2/accuracy"
    text = CLAIM.replace("read: final}", f"read: final, minus: {shuffled}}}")
    text = text[: text.index("gates:")] + "gates: {}\nrule: paired\nfamily: made\n"
    one = claim(tmp_path, text)

    def judged(bn: float) -> Finding:
        found = evidence(one, {"ln": [0.9] * 8, "bn": [bn] * 8})
        for trial, record in found.items():
            record.series[shuffled] = [(200, record.series["test/accuracy"][0][1] - 0.01 * (trial.seed % 3))]
        return finding(one, found)

    assert judged(0.53).num == 8  # chance is 0.5; 0.525 closes 5 % of what is left
    assert judged(0.52).verdict == "not testable on this task"
