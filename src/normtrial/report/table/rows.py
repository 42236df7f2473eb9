"""One row an arm with every number of it; what each format shows is chosen there."""

import math
from dataclasses import dataclass
from typing import Any

from normtrial.report.arms import Arm
from normtrial.report.inference import Interval, wilson
from normtrial.report.outcome import Outcome
from normtrial.report.pairs import mean_interval, paired_difference
from normtrial.training.sinks.progress import number, short


@dataclass(frozen=True, slots=True)
class Row:
    """An arm beside the one it is compared with (itself, for a reference)."""

    arm: Arm
    reference: Arm
    num: int  # runs with a result
    mean: Interval  # t interval over seeds
    difference: Interval  # this arm − reference, paired by seed
    num_pairs: int
    best: float | None  # at any evaluation of any run
    diverged: Interval  # share of runs with a result, Wilson's interval
    parameters: float | None
    seconds: float | None  # of a run, mean
    tokens_per_s: float | None

    @property
    def is_reference(self) -> bool:
        """Whether others are compared with it."""
        return self.arm is self.reference


def rows(arms: list[Arm], references: list[Arm], outcome: Outcome) -> list[Row]:
    """Best mean first."""
    made = [row(arm, reference, outcome) for arm, reference in zip(arms, references, strict=True)]
    return sorted(made, key=lambda one: outcome.rank(one.mean.estimate))


def row(arm: Arm, reference: Arm, outcome: Outcome) -> Row:
    """All numbers of an arm."""
    values, ours, theirs = arm.values(outcome), arm.by_seed(outcome), reference.by_seed(outcome)
    nowhere = Interval(math.nan, math.nan, math.nan)
    return Row(
        arm=arm,
        reference=reference,
        num=len(values),
        mean=mean_interval(values),
        difference=nowhere if arm is reference else paired_difference(ours, theirs),
        num_pairs=len(ours.keys() & theirs.keys()),
        best=arm.best(outcome),
        diverged=wilson(arm.count("diverged"), len(values)) if values else nowhere,
        parameters=arm.average("model:parameters"),
        seconds=mean_of([run.summary.get("seconds") for run in arm.runs if run.summary]),
        tokens_per_s=arm.average("metrics:throughput/tokens_per_s"),
    )


def mean_of(values: list[Any]) -> float | None:
    """Mean of those that there are."""
    there = [value for value in values if isinstance(value, int | float)]
    return sum(there) / len(there) if there else None


def center(one: Row) -> str:
    """The mean as it is read; why not, where there is none."""
    if math.isfinite(one.mean.estimate):
        return number(one.mean.estimate)
    return "failed" if one.num else "no result"


def limits(interval: Interval, signed: bool = False) -> str:
    """The limits of an interval, or that there are none.

    >>> limits(Interval(0.5, 0.25, 0.75)), limits(Interval(0.1, -0.05, 0.25), signed=True)
    ('[0.250, 0.750]', '[-0.050, +0.250]')
    """
    if not math.isfinite(interval.low):
        return ""
    return f"[{decimal(interval.low, signed)}, {decimal(interval.high, signed)}]"


def decimal(value: float, signed: bool = False) -> str:
    """A value in three decimals where that shows it, else in powers of ten; with its sign for a difference.

    >>> decimal(0.12345), decimal(0.12345, signed=True), decimal(1.5e-5), decimal(0.0, signed=True)
    ('0.123', '+0.123', '1.50e-05', '0.000')
    """
    value = 0.0 if abs(value) < 1e-12 else value  # what is left of equal numbers
    plus = "+" if signed and value > 0 else ""
    return plus + (f"{value:.3f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.2e}")


def runs_in_words(one: Row) -> str:
    """How many runs have a result, of how many."""
    return str(one.num) if one.num == len(one.arm.runs) else f"{one.num} of {len(one.arm.runs)}"


def duration(seconds: float | None) -> str:
    """A duration as it is said.

    >>> [duration(seconds) for seconds in (7.3, 83, 5000, None)]
    ['7.3 s', '1:23 min', '1:23 h', '?']
    """
    if seconds is None:
        return "?"
    if seconds < 60:
        return f"{seconds:.1f} s"
    size, unit = (60, "min") if seconds < 3600 else (3600, "h")
    return f"{int(seconds // size)}:{int(seconds % size * 60 / size):02d} {unit}"


def in_words(one: Row) -> dict[str, str]:
    """The cells that a reader sees, by column."""
    return {
        "arm": one.arm.name,
        "n": runs_in_words(one),
        "mean ± 95 %": f"{center(one)}{half(one.mean)}",
        "difference ± 95 %": difference(one),
        "diverged": str(one.arm.count("diverged")),
        "time": duration(one.seconds),
        "tok/s": short(one.tokens_per_s),
    }


def difference(one: Row) -> str:
    """The difference with its interval; nothing without a pair."""
    if one.is_reference:
        return "reference"
    there = math.isfinite(one.difference.estimate)
    return f"{decimal(one.difference.estimate, signed=True)}{half(one.difference)}" if there else ""


def half(interval: Interval) -> str:
    """Half of an interval that is symmetric, as Student's is; nothing where there is none.

    >>> half(Interval(0.5, 0.25, 0.75)), half(Interval(0.5, math.nan, math.nan))
    (' ± 0.250', '')
    """
    return f" ± {decimal((interval.high - interval.low) / 2)}" if math.isfinite(interval.low) else ""
