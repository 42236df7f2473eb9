"""What a judgement consists of, for tables and for results/claims/verdicts.json."""

from dataclasses import asdict, dataclass, field
from typing import Any

from normtrial.claims.judging.evidence import six
from normtrial.report.inference import Interval


@dataclass(slots=True)
class Finding:
    """The judgement on one reading or part of a claim. Effects are contrasts as written, not turned."""

    name: str
    says: str
    verdict: str
    num: int = 0  # seeds, or pairs of times
    planned: int = 0  # seeds that were registered
    effect: float | None = None
    interval: list[float] | None = None  # 95 %, of this reading alone
    judged: list[float] | None = None  # at the level that Holm leaves it in its family
    level: float | None = None  # that level, α
    bootstrap: list[float] | None = None  # 95 %, BCa
    p: float | None = None  # of no effect, two-sided
    detectable: float | None = None  # smallest effect found with 80 % power at that level
    seeds_needed: int | None = None  # where inconclusive; None beyond 10,000
    claimed: str = ""
    unit: str = ""
    means: dict[str, float] = field(default_factory=dict)  # arm -> mean outcome
    rates: dict[str, float] = field(default_factory=dict)  # arm -> learning rate
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Judgement:
    """The judgement on a claim: that of its primary reading, or of its parts together."""

    id: str
    kind: str
    verdict: str
    primary: str  # reading; "" of exact and cost claims
    findings: list[Finding]
    where: str = ""  # what it was measured on

    def primary_finding(self) -> Finding:
        """The one whose numbers stand for the claim."""
        return next((one for one in self.findings if one.name == self.primary), self.findings[0])

    def as_json(self) -> dict[str, Any]:
        """Plain values, numbers in six digits."""
        return rounded(asdict(self))


def limits(interval: Interval) -> list[float]:
    """[low, high]."""
    return [interval.low, interval.high]


def rounded(value: Any) -> Any:
    """The same with every float in six significant digits."""
    if isinstance(value, float):
        return six(value)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value
