"""The judge on runs that are made up: what is planted is found, and what is left out is missed."""

import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from normtrial.claims.claim.training import Outcome, TrainingClaim
from normtrial.claims.judging import evidence as kept
from normtrial.claims.judging.evidence import Evidence
from normtrial.claims.judging.judge import judge
from normtrial.claims.judging.judged import Finding
from normtrial.claims.judging.outcomes import steps_to_target, value_of
from normtrial.claims.judging.rates import best_rate
from normtrial.claims.trials.needs import Trial, arm_at, judging_seeds
from tests.claims.made import CLAIM, claim, evidence, run

RNG = np.random.default_rng(0)
SEED_NOISE = RNG.normal(0, 0.02, 8)  # shared by the arms of a seed
LN, BN = 0.8 + SEED_NOISE, 0.73 + SEED_NOISE + RNG.normal(0, 0.005, 8)
NONE = 0.65 + SEED_NOISE
VALUES = {"ln": list(LN), "bn": list(BN), "none": list(NONE)}


def finding(of: TrainingClaim, found: Evidence, others: tuple[TrainingClaim, ...] = ()) -> Finding:
    return judge([of, *others], found)[0].primary_finding()


def test_a_planted_effect_is_found(tmp_path: Path) -> None:
    one = claim(tmp_path)
    found = finding(one, evidence(one, VALUES))
    assert found.verdict == "reproduced"
    assert found.effect == pytest.approx(-0.07, abs=0.01) and found.num == 8
    assert found.interval is not None and found.interval[1] < -0.06
    assert found.detectable is not None and 0 < found.detectable < 0.01  # by pairs: without, seeds would hide it
    turned = claim(tmp_path, CLAIM.replace("direction: down", "direction: up"))
    assert finding(turned, evidence(turned, VALUES)).verdict == "contradicted"


def test_nothing_is_judged_while_a_run_is_missing(tmp_path: Path) -> None:
    """A diverged run that somebody drops is no run less, but no verdict."""
    one = claim(tmp_path)
    whole = evidence(one, VALUES)
    gone = Trial(arm_at(one, "bn", None), 3)
    found = finding(one, {trial: record for trial, record in whole.items() if trial != gone})
    assert found.verdict == "pending" and found.notes == ["bn: 1 of 8 runs are missing"]


def test_a_diverged_run_counts_as_the_worst(tmp_path: Path) -> None:
    one = claim(tmp_path)
    whole = evidence(one, VALUES)
    trial = Trial(arm_at(one, "bn", None), 3)
    whole[trial] = replace(whole[trial], status="diverged", series={})
    found = finding(one, whole)
    assert found.effect == pytest.approx(np.mean([*np.delete(BN - LN, 3), -LN[3]]))
    assert found.verdict == "inconclusive" and found.seeds_needed is not None and found.seeds_needed > 8
    assert any(note.startswith("bn: 1 of 8 diverged") for note in found.notes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"none": list(LN + RNG.normal(0, 0.01, 8))}, "no control differs"),
        ({"ln": list(LN - 0.29), "none": list(LN - 0.4)}, "at chance"),
        ({"ln": list(0.985 + SEED_NOISE / 100)}, "at the ceiling"),
    ],
)
def test_a_task_that_can_say_nothing_says_nothing(tmp_path: Path, changes: dict, reason: str) -> None:
    one = claim(tmp_path)
    found = finding(one, evidence(one, VALUES | changes))
    assert found.verdict == "not testable on this task" and reason in found.notes[0]


def test_a_family_shares_its_error_rate_whoever_is_asked_for(tmp_path: Path) -> None:
    """Ten claims that have no runs yet make the first one harder to prove."""
    one = claim(tmp_path)
    weak = VALUES | {"bn": list(LN - 0.05 + RNG.normal(0, 0.02, 8))}
    found = evidence(one, weak)
    alone = finding(one, found)
    others = tuple(claim(tmp_path, CLAIM.replace("norm=bn", "norm=rms"), f"T{n}") for n in range(2, 12))
    among = finding(one, found, others)
    assert alone.level == 0.05 and among.level == pytest.approx(0.05 / 11)
    assert alone.interval == among.interval and alone.judged is not None and among.judged is not None
    assert among.judged[0] < alone.judged[0]


def test_rates_are_chosen_on_seeds_that_do_not_judge(tmp_path: Path) -> None:
    text = CLAIM.replace("grid: []", "grid: [0.001, 0.003]").replace("select: null", "select: val/accuracy")
    one = claim(tmp_path, text)
    found: Evidence = {}
    for arm, better in (("ln", 0.001), ("bn", 0.003), ("none", 0.001)):
        for rate in one.grid:
            for seed in one.seeds.select:
                value = 0.8 if rate == better else 0.7
                record = run(arm_at(one, arm, rate), seed, series={"val/accuracy": [(200, value)]})
                found[record.trial] = record
            for seed, value in zip(one.seeds.judge, VALUES[arm], strict=True):
                shown = value if rate == better else 0.999  # better where nobody may look
                record = run(arm_at(one, arm, rate), seed, series={"test/accuracy": [(200, shown)]})
                found[record.trial] = record
    judged = finding(one, found)
    assert judged.rates == {"bn": 0.003, "ln": 0.001} and judged.verdict == "reproduced"
    assert any("grid's edge" in note for note in judged.notes)


def test_a_judgement_says_which_code_made_its_runs(tmp_path: Path) -> None:
    one = claim(tmp_path)
    whole = evidence(one, VALUES)
    first = next(iter(whole))
    whole[first] = replace(whole[first], code_hash="abc")
    assert judge([one], whole)[0].where.endswith("; 24 runs, by code 000000000000 (23), abc (1)")


def test_a_rate_at_which_a_run_diverged_is_the_last_choice(tmp_path: Path) -> None:
    text = CLAIM.replace("grid: []", "grid: [0.001, 0.003]").replace("select: null", "select: val/loss_nats")
    one = claim(tmp_path, text)
    records = [
        run(arm_at(one, "ln", 0.001), 100, series={"val/loss_nats": [(200, 0.9)]}),  # worse than trivial
        run(arm_at(one, "ln", 0.003), 100, status="diverged"),
    ]
    assert best_rate(one, "ln", {record.trial: record for record in records}) == 0.001


def test_rates_of_divergence_are_compared_as_proportions(tmp_path: Path) -> None:
    text = CLAIM.replace("rule: paired", "rule: rate").replace(
        "test/accuracy, read: final", "val/loss_nats, read: diverged"
    )
    text = text.replace("{direction: down, size: 0.07, smallest: 0.01}", "{direction: up, smallest: 0.1}")
    text = text.replace(
        "gates:\n  task: {metric: test/accuracy, baseline: ln, control: none, margin: 0.03}", "gates: {}"
    )
    one = claim(tmp_path, text)
    trained, stuck = dict.fromkeys(VALUES, [0.5] * 8), [0.69] * 8  # of 0.693
    assert finding(one, evidence(one, trained, "val/loss_nats")).verdict == "inconclusive"
    whole = evidence(one, trained | {"bn": [*stuck[:4], *trained["bn"][4:]]}, "val/loss_nats")
    assert finding(one, whole).effect == 0.5
    for trial, record in whole.items():
        if "norm=bn" in trial.arm:
            whole[trial] = replace(record, status="diverged")
    found = finding(one, whole)
    assert found.verdict == "reproduced" and found.effect == 1.0
    assert found.interval is not None and found.interval[0] == pytest.approx(0.431, abs=1e-3)


LOSS = [(50, 3.0), (100, 2.0), (150, 1.5), (200, 1.4)]


def test_who_never_gets_there_counts_with_all_steps() -> None:
    outcome = Outcome(metric="val/loss_nats", read="steps_to_target", target=1.6)
    assert steps_to_target(run("a=1", 0, series={"val/loss_nats": LOSS}), outcome) == (140.0, False)
    at_once = run("a=1", 0, series={"val/loss_nats": LOSS[3:]})
    assert steps_to_target(at_once, outcome) == (200.0, False)
    short = run("a=1", 0, series={"val/loss_nats": LOSS[:2]}, status="diverged", steps=120)
    assert steps_to_target(short, outcome) == (200.0, True)


def test_runs_are_read_as_the_outcome_says() -> None:
    record = run("a=1", 0, series={"val/loss_nats": LOSS, "test/accuracy": [(200, 0.8)], "test/x": [(200, 0.6)]})
    assert value_of(record, Outcome(metric="val/loss_nats", read="final")) == 1.4
    assert value_of(record, Outcome(metric="val/loss_nats", read="mean", window=[100, 200])) == pytest.approx(
        4.9 / 3
    )
    assert value_of(record, Outcome(metric="test/accuracy", read="final", minus="test/x")) == pytest.approx(0.2)
    ratio = Outcome(metric="test/accuracy", read="final", over="test/x", log=True)
    assert value_of(record, ratio) == pytest.approx(math.log(4 / 3))
    counts = replace(record, series={"events/spike": [(1, 0.0), (2, 1.0)], "events/skip": [(1, 0.0)]})
    for kind, happened in (("spike", 1.0), ("skip", 0.0)):
        assert value_of(counts, Outcome(metric=f"events/{kind}", read="happened")) == happened
    assert math.isnan(value_of(counts, Outcome(metric="events/alarm", read="happened")))  # was not collected
    gone = replace(record, status="diverged")
    loss = Outcome(metric="val/loss_nats", read="final")
    assert value_of(gone, loss) == 1.4  # its last, which is worse than the trivial predictor's 0.693
    assert value_of(replace(gone, series={}), loss) == 0.693
    assert math.isnan(value_of(gone, Outcome(metric="test/accuracy", read="final", minus="test/x")))
    noisy = [(step, 5 - 0.01 * step + (-1) ** step * 0.1) for step in range(1, 101)]
    wobble = run("a=1", 0, series={"train/loss_nats": noisy})
    assert value_of(wobble, Outcome(metric="train/loss_nats", read="spread", window=[1, 100])) == pytest.approx(
        0.1, rel=0.03
    )


def test_a_reading_without_a_value_says_so(tmp_path: Path) -> None:
    text = CLAIM.replace("read: final}", "read: final, minus: test/shuffle_words_0.2/accuracy}")
    one = claim(tmp_path, text)
    found = finding(one, evidence(one, VALUES))
    assert found.verdict == "inconclusive" and "8 of 8 seeds have a run without this value" in found.notes[-1]


def test_evidence_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    one = claim(tmp_path)
    records = evidence(one, VALUES)
    path = kept.write(records.values(), tmp_path)
    first = path.read_bytes()
    again = kept.read(tmp_path)
    assert set(again) == set(records)
    kept.write(reversed(list(again.values())), tmp_path)
    assert path.read_bytes() == first


def test_evidence_that_two_commands_write_at_once_is_whole(tmp_path: Path) -> None:
    records = list(evidence(claim(tmp_path), VALUES).values()) * 20
    kept.write(records, tmp_path)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        writing = [pool.submit(kept.write, records, tmp_path) for _ in range(20)]
        while not all(one.done() for one in writing):
            assert len(kept.read(tmp_path)) == 24
        for one in writing:
            one.result()


def test_more_seeds_than_registered_are_counted_on(tmp_path: Path) -> None:
    one = claim(tmp_path)
    assert judging_seeds(one, None) == list(range(8))
    assert judging_seeds(one, 3) == [0, 1, 2]
    assert judging_seeds(one, 10) == [*range(8), 101, 102]
