"""Whether a task can say anything about quality: a control must differ, and the baseline have room both ways."""

from collections.abc import Callable

from normtrial.claims.claim.training import Gate, Outcome
from normtrial.claims.judging.evidence import RunRecord
from normtrial.claims.judging.outcomes import value_of
from normtrial.report.inference import t_interval
from normtrial.report.outcome import outcome_for

Runs = Callable[[str], list[RunRecord]]  # an arm's runs, by seed


def closed(gate: Gate, runs: Runs) -> str | None:
    """Why the task cannot say anything; None where it can."""
    outcome = Outcome(metric=gate.metric, read="final")
    baseline = [value_of(run, outcome) for run in runs(gate.baseline)]
    return _without_room(gate, runs, sum(baseline) / len(baseline)) or _indifferent(gate, runs, baseline)


def _without_room(gate: Gate, runs: Runs, mean: float) -> str | None:
    name = gate.metric.rsplit("/", 1)[1]
    more = outcome_for(gate.metric, None).direction == "max"
    chance = runs(gate.baseline)[0].trivial[name]
    from_chance, from_ceiling = (mean - chance, 1 - mean) if more else (chance - mean, mean)
    if from_chance < gate.margin:
        return f"{gate.baseline} is at chance: {gate.metric} {mean:.3g}, the trivial predictor's {chance:.3g}"
    if from_ceiling < gate.margin:
        return f"{gate.baseline} is at the ceiling: {gate.metric} {mean:.3g}"
    return None


def _indifferent(gate: Gate, runs: Runs, baseline: list[float]) -> str | None:
    """None where a control differs from the baseline: its 95 % interval excludes 0."""
    controls: dict[str, list[float]] = {}
    if gate.control is not None:
        outcome = Outcome(metric=gate.metric, read="final")
        controls[gate.control] = [value_of(run, outcome) for run in runs(gate.control)]
    if gate.shuffled is not None:
        outcome = Outcome(metric=gate.shuffled, read="final")
        controls[gate.shuffled] = [value_of(run, outcome) for run in runs(gate.baseline)]
    for values in controls.values():
        interval = t_interval([one - other for one, other in zip(baseline, values, strict=True)])
        if interval.low > 0 or interval.high < 0:
            return None
    return f"no control differs from {gate.baseline} in {gate.metric}: {', '.join(controls)}"
