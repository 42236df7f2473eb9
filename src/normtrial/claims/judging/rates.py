"""Each arm's learning rate, chosen on the selection seeds, and an arm's runs at it."""

import statistics
from collections import Counter

from normtrial.claims.claim.training import Outcome, Reading, TrainingClaim
from normtrial.claims.judging.evidence import Evidence, RunRecord, has
from normtrial.claims.judging.outcomes import value_of
from normtrial.claims.trials.needs import (
    Trial,
    arm_at,
    judging,
    judging_seeds,
    metrics_of,
    reads_whole_grid,
    selecting,
)
from normtrial.report.outcome import outcome_for


class Missing(Exception):
    """Runs that a verdict needs have not ended."""


def best_rates(
    claim: TrainingClaim, reading: Reading, evidence: Evidence, arms: list[str] | None = None
) -> tuple[dict[str, float], list[str]]:
    """Arm -> learning rate, and remarks on rates at the edge of the grid, beyond which a better one may lie.

    Raises:
        Missing: selection runs have not ended.
    """
    names = list(reading.weights()) if arms is None else arms
    if reading.rate == "shared":
        assert claim.shared is not None
        return dict.fromkeys(names, claim.shared), []
    if not claim.grid or reads_whole_grid(claim):
        return {}, []
    rates = {arm: best_rate(claim, arm, evidence) for arm in names}
    edges = (min(claim.grid), max(claim.grid))
    remarks = [f"{arm}: best rate {rate:g} is at the grid's edge" for arm, rate in rates.items() if rate in edges]
    return rates, remarks


def best_rate(claim: TrainingClaim, arm: str, evidence: Evidence) -> float:
    """The grid's rate with the best mean of `select` over the selection seeds; the smaller of two equal ones.

    A rate at which a selection run diverged comes behind all at which none did.
    """
    assert claim.select is not None
    outcome = Outcome(metric=claim.select, read="final")
    rank = outcome_for(claim.select, None).rank
    means = {}
    for rate in sorted(claim.grid):
        runs = taken(claim, arm, rate, claim.seeds.select, evidence, [claim.select])
        diverged = any(run.status == "diverged" for run in runs)  # behind every rate at which none does
        means[rate] = diverged, rank(statistics.fmean(value_of(run, outcome) for run in runs))
    return min(means, key=lambda rate: (means[rate], rate))


def runs_of(
    claim: TrainingClaim, arm: str, rate: float | None, evidence: Evidence, num_seeds: int | None
) -> list[RunRecord]:
    """An arm's judging runs by seed, all of them.

    Raises:
        Missing: some have not ended. A verdict on the others would be one on those that happened to be there.
    """
    return taken(claim, arm, rate, judging_seeds(claim, num_seeds), evidence, metrics_of([claim]))


def taken(
    claim: TrainingClaim, arm: str, rate: float | None, seeds: list[int], evidence: Evidence, names: list[str]
) -> list[RunRecord]:
    """Runs of an arm at a rate, one a seed; those in which these metrics were not looked for are missing."""
    trials = [Trial(arm_at(claim, arm, rate), seed) for seed in seeds]
    lacking = sum(not has(evidence, trial, names) for trial in trials)
    if lacking:
        at = "" if rate is None else f" at {rate:g}"
        raise Missing(f"{arm}{at}: {lacking} of {len(trials)} runs are missing")
    return [evidence[trial] for trial in trials]


def versions_of(
    claim: TrainingClaim, best: dict[str, float], evidence: Evidence, num_seeds: int | None
) -> dict[str, int]:
    """Hash of the code -> how many of the claim's runs it made, most first; `best` are the chosen rates."""
    trials = {*selecting(claim), *judging(claim, best, num_seeds)}
    counted = Counter(evidence[trial].code_hash for trial in sorted(trials) if trial in evidence)
    return dict(counted.most_common())
