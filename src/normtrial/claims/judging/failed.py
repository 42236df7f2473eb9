"""Runs that failed are in the numbers, and named; where they leave nothing to compare, the task cannot tell."""

import math
from collections.abc import Callable, Sequence

from normtrial.claims.claim.training import Outcome
from normtrial.claims.judging import verdict
from normtrial.claims.judging.evidence import RunRecord
from normtrial.claims.judging.judged import Finding
from normtrial.claims.judging.outcomes import knows_trivial, steps_to_target, trains
from normtrial.report import inference


def name_failed(
    finding: Finding,
    outcome: Outcome,
    runs: dict[str, list[RunRecord]],
    values: dict[str, list[float]],
    grid: Sequence[float],
) -> None:
    """Note who diverged, never reached a target, or ended no better than the trivial predictor.

    A contrast needs one arm that trains in most seeds; a gap needs all of them to, for a model at chance has
    nothing to lose.
    """
    for arm, each in runs.items():
        if num := sum(run.status == "diverged" for run in each):
            rate = inference.wilson(num, len(each))
            finding.notes.append(
                f"{arm}: {num} of {len(each)} diverged [{rate.low:.2f}, {rate.high:.2f}], counted"
            )
    if outcome.read == "steps_to_target":
        late = {arm: [steps_to_target(run, outcome)[1] for run in each] for arm, each in runs.items()}
        said = "{} of {} never got there; they count as all steps"
        _note(finding, late, said, all, "in most seeds no arm reaches the target")
    stuck, is_gap = _untrained(outcome, runs, values, grid), bool(outcome.minus or outcome.over)
    missing = (any, "in most seeds an arm does not train, and has nothing to lose")
    nothing = missing if is_gap else (all, "in most seeds no arm trains")
    _note(finding, stuck, "in {} of {} seeds it does not train, counted", *nothing)


def _untrained(
    outcome: Outcome,
    runs: dict[str, list[RunRecord]],
    values: dict[str, list[float]],
    grid: Sequence[float],
) -> dict[str, list[bool]]:
    """Arm -> by seed, whether it failed to train; nothing where the outcome does not tell."""
    if outcome.read == "largest_rate":
        return {arm: [value < math.log(min(grid)) - 1e-9 for value in each] for arm, each in values.items()}
    told = outcome.read == "final" and all(
        knows_trivial(run, outcome.metric) for each in runs.values() for run in each
    )
    return {arm: [not trains(run, outcome.metric) for run in each] for arm, each in runs.items() if told}


def _note(
    finding: Finding, failed: dict[str, list[bool]], said: str, nothing: Callable[..., bool], reason: str
) -> None:
    """Name the arms that failed; the reading cannot be judged where they leave `nothing` in most seeds."""
    for arm, each in failed.items():
        if any(each):
            finding.notes.append(f"{arm}: {said.format(sum(each), len(each))}")
    if 2 * sum(nothing(seed) for seed in zip(*failed.values(), strict=True)) > finding.planned:
        finding.verdict = verdict.NOT_TESTABLE
        finding.notes.append(reason)
