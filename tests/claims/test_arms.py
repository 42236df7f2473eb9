"""Every arm of every claim composes, and logs what its outcome reads."""

import warnings
from functools import cache

import pytest
from omegaconf import OmegaConf

from normtrial.claims.claim.load import load_claims
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.trials.needs import arm_at, metrics_of
from normtrial.config import Config
from normtrial.records import is_scientific
from normtrial.training.metrics import evaluated, find
from tests.norms.options import settings

CLAIMS = [one for one in load_claims().values() if isinstance(one, TrainingClaim)]

ABOUT_TASKS = ("L04",)  # text against images


@cache
def composed(arm: str) -> Config:
    """As `train.py` would, but Hydra composes only once for each set of choices."""
    given = arm.split(" ")
    values = {
        key: OmegaConf.create(f"value: {value}").value
        for key, _, value in (override.partition("=") for override in given)
        if "." in key
    }
    choices = [override for override in given if "." not in override.split("=")[0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an eps that half precision loses is what C73 is about
        return settings(*choices, values=values)


def logged(config: Config, name: str) -> bool:
    """Whether a run of this configuration has the metric."""
    row, parts = find(name), evaluated(name)
    if row is None or (row.task is not None and row.task != config.data.kind):
        return False
    if parts is None or not parts.shift:
        return True
    if parts.shift.startswith("length_"):
        return parts.shift.endswith(f"of{config.eval.length_buckets}")
    return parts.shift in [shift.name for shift in config.eval.shifts()]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_arm_composes_and_logs_its_outcome(claim: TrainingClaim) -> None:
    for arm in claim.arms:
        composed(arm_at(claim, arm, None))
    for name, reading in claim.readings.items():
        for arm in reading.weights():
            config = composed(arm_at(claim, arm, None))
            for metric in claim.outcome_of(reading).metrics():
                assert logged(config, metric), f"{name}: {arm} does not log {metric}"
    for gate in claim.gates.values():
        config = composed(arm_at(claim, gate.baseline, None))
        assert all(logged(config, metric) for metric in (gate.metric, gate.shuffled or gate.metric))
    assert claim.select is None or claim.select in metrics_of([claim])


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_arms_of_a_contrast_are_of_one_task(claim: TrainingClaim) -> None:
    """What is compared differs in the model, in what the claim is about, and in nothing about the seed."""
    for reading in claim.readings.values():
        configs = [composed(arm_at(claim, arm, None)) for arm in reading.weights()]
        sources = {config.data.source for config in configs}
        assert len(sources) == 1 or claim.id in ABOUT_TASKS, sources
        assert len({arm_at(claim, arm, None) for arm in reading.weights()}) == len(configs)


def test_no_arm_sets_what_is_no_part_of_a_run() -> None:
    for claim in CLAIMS:
        for override in (*claim.recipe, *(override for arm in claim.arms.values() for override in arm)):
            name = override.split("=")[0]
            assert name != "seed" and (
                is_scientific(name) or name.split(".")[0] == "probe" or name.startswith("train.")
            )
