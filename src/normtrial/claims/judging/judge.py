"""Verdicts on training claims from the evidence; seconds, and no torch.

Whatever claims are asked for, all of a family are looked at: a verdict never depends on the question's company.
"""

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from normtrial.claims.claim.training import Outcome, Reading, TrainingClaim
from normtrial.claims.judging import gates, verdict
from normtrial.claims.judging.evidence import Evidence, RunRecord
from normtrial.claims.judging.failed import name_failed
from normtrial.claims.judging.judged import Finding, Judgement, limits
from normtrial.claims.judging.outcomes import largest_rate, slack, value_of
from normtrial.claims.judging.rates import Missing, best_rates, runs_of, versions_of
from normtrial.report import inference
from normtrial.report.inference import Interval


@dataclass(slots=True)
class Case:
    """A reading with its numbers, before its family is known."""

    claim: TrainingClaim
    reading: Reading
    finding: Finding
    effects: list[float]  # one a seed; empty where there is nothing to judge
    interval_at: Callable[[float], Interval] | None = None


def judge(claims: Iterable[TrainingClaim], evidence: Evidence, num_seeds: int | None = None) -> list[Judgement]:
    """A judgement a claim; give it all claims, for families."""
    claims = list(claims)
    cases = [
        prepare(claim, name, reading, evidence, num_seeds)
        for claim in claims
        for name, reading in claim.readings.items()
    ]
    families: dict[str, list[Case]] = {}
    for case in cases:
        families.setdefault(case.claim.family, []).append(case)
    for family in families.values():
        conclude(family)
    found = []
    for claim in claims:
        findings = [case.finding for case in cases if case.claim is claim]
        primary = next(one for one in findings if one.name == claim.primary)
        best = {
            arm: rate
            for one in findings
            if claim.readings[one.name].rate == "best"
            for arm, rate in one.rates.items()
        }
        where = measured_on(claim, len(families[claim.family]), versions_of(claim, best, evidence, num_seeds))
        found.append(Judgement(claim.id, claim.kind, primary.verdict, claim.primary, findings, where))
    return found


def measured_on(claim: TrainingClaim, family_size: int, versions: dict[str, int]) -> str:
    """Recipe, family, and which versions of the code made the runs."""
    recipe = " ".join(claim.recipe) or "each arm's own recipe"
    codes = ", ".join(f"{code} ({num})" for code, num in versions.items())
    runs = f"; {sum(versions.values())} runs, by code {codes}" if codes else ""
    return f"{recipe}; family {claim.family} of {family_size}{runs}"


def prepare(claim: TrainingClaim, name: str, reading: Reading, evidence: Evidence, num_seeds: int | None) -> Case:
    """Collect a reading's numbers; its finding says where there are none."""
    outcome, prediction = claim.outcome_of(reading), claim.prediction_of(reading)
    size = "" if prediction.size is None else f" by {prediction.size:g}"
    finding = Finding(
        name,
        reading.says,
        verdict.PENDING,
        claimed=f"{prediction.direction}{size}, δ {prediction.smallest:g}",
        unit=unit_of(outcome),
    )
    case = Case(claim, reading, finding, [])
    try:
        rates, remarks = best_rates(claim, reading, evidence)
        runs = {
            arm: runs_of(claim, arm, rates.get(arm), evidence, num_seeds)
            for arm in reading.weights()
            if outcome.read != "largest_rate"
        }
        finding.notes += remarks
        finding.rates = rates
        if reason := closed_gate(claim, reading, evidence, num_seeds):
            finding.verdict = verdict.NOT_TESTABLE
            finding.notes.append(reason)
        values = outcomes_of(case, runs, evidence, num_seeds)
    except Missing as missing:
        finding.notes.append(str(missing))
        return case
    finding.planned = len(next(iter(values.values())))
    finding.means = {arm: statistics.fmean(each) for arm, each in values.items()}
    each = [sum(w * values[arm][n] for arm, w in reading.weights().items()) for n in range(finding.planned)]
    name_failed(finding, outcome, runs, values, claim.grid)
    lacking = sum(math.isnan(effect) for effect in each)
    if lacking:
        finding.verdict = verdict.INCONCLUSIVE
        finding.notes.append(
            f"{lacking} of {len(each)} seeds have a run without this value, as diverged ones have"
        )
        return case
    if finding.verdict == verdict.PENDING:
        case.effects = each
        case.interval_at = interval_of(case, values)
    return case


def outcomes_of(
    case: Case, runs: dict[str, list[RunRecord]], evidence: Evidence, num_seeds: int | None
) -> dict[str, list[float]]:
    """Arm -> outcome by seed."""
    outcome, claim = case.claim.outcome_of(case.reading), case.claim
    if outcome.read != "largest_rate":
        return {arm: [value_of(run, outcome) for run in each] for arm, each in runs.items()}
    found = {}
    for arm in case.reading.weights():
        by_rate = {rate: runs_of(claim, arm, rate, evidence, num_seeds) for rate in claim.grid}
        num = len(by_rate[claim.grid[0]])
        found[arm] = [
            largest_rate({rate: each[n] for rate, each in by_rate.items()}, outcome.metric) for n in range(num)
        ]
    return found


def closed_gate(claim: TrainingClaim, reading: Reading, evidence: Evidence, num_seeds: int | None) -> str | None:
    """Why the task cannot say anything about this reading; None where it can."""
    for gate in claim.gates_of(reading):
        arms = [gate.baseline, *([gate.control] if gate.control else [])]
        rates, _ = best_rates(claim, reading, evidence, arms)
        reason = gates.closed(gate, lambda arm: runs_of(claim, arm, rates.get(arm), evidence, num_seeds))  # noqa: B023
        if reason:
            return reason
    return None


def interval_of(case: Case, values: dict[str, list[float]]) -> Callable[[float], Interval]:
    """The interval of a reading's effect, by level."""
    if case.claim.outcome_of(case.reading).read == "largest_rate":
        low, high = slack(case.reading.weights(), values, case.claim.grid)
        return lambda alpha: inference.t_interval(case.effects, alpha).widened(low, high)
    if case.claim.rule == "paired":
        return lambda alpha: inference.t_interval(case.effects, alpha)
    arms = sorted(case.reading.weights().items(), key=lambda pair: -pair[1])
    one, other = ((int(sum(values[arm])), len(values[arm])) for arm, _ in arms)
    return lambda alpha: inference.rate_difference(one, other, alpha)


def conclude(family: list[Case]) -> None:
    """Judge the readings of a family, each at the level that Holm leaves it. Missing ones count as p = 1."""
    p_values = [1.0 if case.interval_at is None else p_of(case) for case in family]
    for case, p, level in zip(family, p_values, inference.holm_levels(p_values), strict=True):
        if case.interval_at is None:
            continue
        finding, prediction = case.finding, case.claim.prediction_of(case.reading)
        plain, judged = case.interval_at(inference.ALPHA), case.interval_at(level)
        finding.num, finding.effect, finding.p, finding.level = len(case.effects), plain.estimate, p, level
        finding.interval, finding.judged = limits(plain), limits(judged)
        finding.verdict = verdict.decide(judged, prediction)

        def settled(interval: Interval) -> bool:
            return verdict.decide(interval, prediction) not in verdict.OPEN  # noqa: B023

        if case.claim.rule == "rate":
            finding.detectable = inference.detectable_rate(len(case.effects), level)
            continue
        deviation = statistics.stdev(case.effects)
        finding.bootstrap = limits(inference.bootstrap_interval(case.effects))
        finding.detectable = inference.detectable_effect(deviation, len(case.effects), level)
        if case.claim.outcome_of(case.reading).read == "largest_rate":
            finding.notes.append("the interval holds the grid's brackets, which more seeds would not narrow")
        elif finding.verdict in verdict.OPEN:
            finding.seeds_needed = inference.seeds_until(settled, plain.estimate, deviation, finding.num, level)


def p_of(case: Case) -> float:
    """Two-sided p of no effect."""
    if case.claim.rule == "paired" and case.claim.outcome_of(case.reading).read != "largest_rate":
        return inference.t_p_value(case.effects)
    assert case.interval_at is not None
    return inference.p_of(case.interval_at)


def unit_of(outcome: Outcome) -> str:
    """What effects are measured in."""
    read = {
        "steps_to_target": "steps",
        "largest_rate": "learning rate",
        "diverged": "share of runs",
        "happened": f"share of runs with {outcome.metric}",
    }
    name = read.get(outcome.read, outcome.metric)
    if outcome.minus or outcome.over:
        name = f"{outcome.metric} {'−' if outcome.minus else '/'} {outcome.minus or outcome.over}"
    if outcome.read == "spread":
        name = f"detrended sd of {name}"
    return f"ln {name}" if outcome.log or outcome.read == "largest_rate" else name
