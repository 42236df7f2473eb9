import math

import pytest

from normtrial.errors import ConfigError
from normtrial.report.arms import Run, group, only_task
from normtrial.report.outcome import Outcome, outcome_for

ACCURACY, LOSS = Outcome("val/accuracy", "max"), Outcome("val/loss_nats", "min")


def test_runs_that_differ_in_seed_and_log_only_are_one_arm(make_run):
    arms = group([make_run(f"r{seed}", seed=seed) for seed in (1, 0, 2)])
    assert [arm.name for arm in arms] == ["bn pre"]
    assert [run.config["seed"] for run in arms[0].runs] == [0, 1, 2]


def test_a_number_in_yaml_stays_a_number(make_run):
    assert Run.read(make_run()).config["norm.eps"] == 1e-5


def test_arms_are_named_by_the_leaves_in_which_they_differ(make_run):
    runs = [make_run(f"{norm}{lr}", norm=norm, lr=lr) for norm in ("bn", "ln") for lr in ("1e-3", "3e-3")]
    assert [arm.name for arm in group(runs)] == ["bn lr=0.001", "bn lr=0.003", "ln lr=0.001", "ln lr=0.003"]
    assert [arm.name for arm in group(runs[:2])] == ["lr=0.001", "lr=0.003"]
    settings = group(runs)[2].settings
    assert settings == {"norm.name": "ln", "norm.momentum": "absent", "optim.lr": 0.001}


def test_a_diverged_run_counts_with_the_worst_value(make_run):
    runs = [make_run("a"), make_run("b", seed=1, status="diverged", die_at=90)]
    arm = group(runs)[0]
    assert arm.values(ACCURACY) == [0.8, 0.0]
    assert arm.mean(ACCURACY) == 0.4
    assert arm.count("diverged") == 1
    assert math.isinf(arm.mean(LOSS)), "a mean over the survivors would flatter the arm"
    assert arm.spread(LOSS) is None
    assert arm.best(ACCURACY) == 0.8


def test_a_finished_run_with_a_nonfinite_outcome_counts_with_the_worst_value(make_run):
    folder = make_run("a")
    summary = folder.read_summary()
    for value in (None, "nan", math.nan):
        summary["metrics"]["val/accuracy"] = value
        folder.write_json("summary.json", summary)
        assert Run.read(folder).value(ACCURACY) == 0.0


def test_crashed_and_unfinished_runs_have_no_value_and_are_counted(make_run):
    runs = [make_run("a"), make_run("b", seed=1, status="crashed"), make_run("c", seed=2, ended=False)]
    arm = group(runs)[0]
    assert arm.values(ACCURACY) == [0.8]
    assert (arm.count("crashed"), arm.count("interrupted")) == (1, 1)


def test_outcome_is_the_tasks_and_knows_its_direction():
    assert outcome_for(None, "classification") == ACCURACY
    assert outcome_for(None, "lm") == LOSS
    assert outcome_for("val/batch_stats/accuracy", "classification").direction == "max"
    with pytest.raises(ConfigError, match="val/accurac"):
        outcome_for("val/accurac", None)
    with pytest.raises(ConfigError, match="no better or worse"):
        outcome_for("optim/lr", None)


def test_arms_of_two_tasks_are_not_compared(make_run):
    arms = group([make_run("a"), make_run("b", task="lm", norm="ln")])
    with pytest.raises(ConfigError, match="several tasks"):
        only_task(arms)
