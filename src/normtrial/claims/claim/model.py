"""A claim, and the two kinds that a measurement of minutes settles. Values are in experiments/<id>.yaml."""

import math
from dataclasses import dataclass, field

from normtrial.errors import require
from normtrial.report.inference import Interval


@dataclass(kw_only=True, slots=True)
class Source:
    """Where a claim stands."""

    document: str  # file name; or authors, year and arXiv id
    section: str  # in a few words, for the documents have no numbers throughout
    reported: str  # the numbers it gives; "none" where there are none


@dataclass(kw_only=True, slots=True)
class Registered:
    """When the prediction was fixed, and what was fixed."""

    date: str  # ISO 8601
    hash: str  # of everything that a verdict depends on; see `registry.fingerprint`


@dataclass(kw_only=True, slots=True)
class Deviation:
    """A change after registration."""

    date: str
    why: str
    hash: str  # of the claim after it


@dataclass(kw_only=True, slots=True)
class Claim:
    """What every claim has."""

    id: str
    kind: str  # exact, training or cost
    statement: str  # in our own words
    source: Source
    registered: Registered | None = None  # None until `claim.py register`
    deviations: list[Deviation] = field(default_factory=list)
    remark: str = ""  # what a reader should know beside the verdict; free to change
    against: list[str] = field(default_factory=list)  # claims that say the opposite; free to change

    def check(self) -> None:
        """Raise `ConfigError` on what cannot be judged."""
        require(bool(self.statement.strip()), f"{self.id}: statement is empty.")


@dataclass(kw_only=True, slots=True)
class Part:
    """One number of a claim. What is claimed: a value within a tolerance, or a bound, or two."""

    says: str  # what the number is
    value: float | None = None
    tolerance: float | None = None  # ±, of value
    at_least: float | None = None
    at_most: float | None = None

    def bounds(self) -> tuple[float, float]:
        """The claimed range."""
        if self.value is not None:
            assert self.tolerance is not None
            return self.value - self.tolerance, self.value + self.tolerance
        return (
            -math.inf if self.at_least is None else self.at_least,
            math.inf if self.at_most is None else self.at_most,
        )

    def holds(self, measured: Interval) -> bool | None:
        """True where the whole interval lies in the claimed range, False where none of it does; else None.

        >>> Part(says="", value=1.0, tolerance=0.1).holds(Interval(1.05, 1.05, 1.05))
        True
        >>> Part(says="", at_least=2.0).holds(Interval(1.9, 1.7, 2.1))
        """
        low, high = self.bounds()
        if low <= measured.low and measured.high <= high:
            return True
        if math.isnan(measured.estimate) or measured.high < low or high < measured.low:
            return False
        return None

    def in_words(self) -> str:
        """What is claimed.

        >>> Part(says="", at_least=2.0).in_words(), Part(says="", value=1.0, tolerance=0.0).in_words()
        ('at least 2', '1')
        """
        if self.value is not None:
            return f"{self.value:g} ± {self.tolerance:g}" if self.tolerance else f"{self.value:g}"
        bounds = {"at least": self.at_least, "at most": self.at_most}
        return " and ".join(f"{words} {bound:g}" for words, bound in bounds.items() if bound is not None)

    def check(self, where: str) -> None:
        """A value with its tolerance, or bounds."""
        is_value, is_bound = self.value is not None, self.at_least is not None or self.at_most is not None
        require(
            is_value != is_bound and is_value == (self.tolerance is not None),
            f"{where}: give value and tolerance, or at_least, at_most or both.",
        )


@dataclass(kw_only=True, slots=True)
class MeasuredClaim(Claim):
    """A claim whose parts one function measures."""

    measure: str  # a function of `claims.exact` or `claims.cost` by name
    parts: dict[str, Part]  # under the names that the function returns

    def check(self) -> None:
        """Every part claims something."""
        Claim.check(self)
        require(bool(self.parts), f"{self.id}: parts is empty.")
        for name, part in self.parts.items():
            part.check(f"{self.id}: parts.{name}")


@dataclass(kw_only=True, slots=True)
class ExactClaim(MeasuredClaim):
    """About what a formula or an implementation computes."""


@dataclass(kw_only=True, slots=True)
class CostClaim(MeasuredClaim):
    """About time or memory."""
