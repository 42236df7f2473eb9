import math

import pytest

from normtrial.report.arms import group
from normtrial.report.outcome import Outcome
from normtrial.report.rates import at_best, difference_at_best, families, sensitivity

ACCURACY, LOSS = Outcome("val/accuracy", "max"), Outcome("val/loss_nats", "min")
FINAL = {"bn": {"1e-3": 0.6, "3e-3": 0.9, "1e-2": 0.5}, "ln": {"1e-3": 0.7, "3e-3": 0.6, "1e-2": 0.5}}


@pytest.fixture
def arms(make_run):
    runs = [
        make_run(f"{norm}{lr}{seed}", norm=norm, lr=lr, seed=seed, final=final + 0.02 * seed)
        for norm, finals in FINAL.items()
        for lr, final in finals.items()
        for seed in (0, 1)
    ]
    return group(runs)


def test_each_family_is_compared_at_its_own_best_rate(arms) -> None:
    best = at_best(families(arms), ACCURACY)
    assert [(one.family.name, one.rate) for one in best] == [("bn", 0.003), ("ln", 0.001)]
    assert best[0].value.estimate == pytest.approx(0.91)
    assert difference_at_best(best[0], best[1], ACCURACY).estimate == pytest.approx(0.2)
    assert best[0].sensitivity == pytest.approx(0.9 - (0.6 + 0.9 + 0.5) / 3)


def test_the_grid_is_what_all_have_tried(make_run, arms) -> None:
    more = [run.folder for arm in arms for run in arm.runs]
    more += [make_run("extra", norm="bn", lr="3e-2", final=1.0)]
    best = at_best(families(group(more)), ACCURACY)
    assert best[0].rate == 0.003, "a rate that only one has tried is no fair one"
    alone = [make_run("a", norm="rms", lr="5e-1"), make_run("b", norm="rms", lr="6e-1")]
    assert at_best(families(group([*more, *alone])), ACCURACY) == []


def test_one_rate_makes_no_family(make_run) -> None:
    assert families(group([make_run("a"), make_run("b", norm="ln")])) == []


def test_a_diverged_run_costs_the_trivial_loss(make_run) -> None:
    runs = [make_run("a", task="lm", lr="1e-3"), make_run("b", task="lm", lr="1e-2", status="diverged", die_at=90)]
    arms = group(runs)
    best = arms[0].mean(LOSS)
    assert sensitivity(arms, LOSS) == pytest.approx((best + 6.9) / 2 - best)
    summary = runs[1].read_summary()
    runs[1].write_json("summary.json", {**(summary or {}), "trivial": {}})
    assert math.isnan(sensitivity(group(runs), LOSS))
