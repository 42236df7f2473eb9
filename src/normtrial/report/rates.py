"""Arms across learning rates: each at its own best of one shared grid, and how much the choice of it matters."""

import math
import statistics
from dataclasses import dataclass

from normtrial.report.arms import Arm, name_of
from normtrial.report.inference import Interval
from normtrial.report.outcome import Outcome
from normtrial.report.pairs import mean_interval, paired_difference

RATE = "optim.lr"


@dataclass(frozen=True, slots=True)
class Family:
    """Arms that differ in the learning rate only, by rate."""

    name: str
    arms: dict[float, Arm]


def families(arms: list[Arm]) -> list[Family]:
    """Group arms over learning rates, in the order of appearance; none where no family has two rates."""
    found: dict[str, list[Arm]] = {}
    for arm in arms:
        rest = {name: value for name, value in arm.settings.items() if name != RATE}
        found.setdefault(repr(sorted(rest.items())), []).append(arm)
    made = []
    for alike in found.values():
        told = [leaf for leaf in alike[0].told if leaf != RATE]
        by_rate = {arm.config[RATE]: arm for arm in sorted(alike, key=lambda arm: arm.config[RATE])}
        made.append(Family(name_of(alike[0].config, told), by_rate))
    return made if any(len(family.arms) > 1 for family in made) else []


@dataclass(frozen=True, slots=True)
class AtBest:
    """A family at its best rate of the shared grid."""

    family: Family
    rate: float
    value: Interval
    sensitivity: float  # nan where it does not exist


def at_best(found: list[Family], outcome: Outcome) -> list[AtBest]:
    """Every family at its own best rate, of those that all have tried; empty where they share none."""
    grid = sorted(set.intersection(*(set(family.arms) for family in found))) if found else []
    best = []
    for family in found if grid else []:
        rate = min(grid, key=lambda rate: outcome.rank(family.arms[rate].mean(outcome)))
        value = mean_interval(family.arms[rate].values(outcome))
        best.append(AtBest(family, rate, value, sensitivity([family.arms[rate] for rate in grid], outcome)))
    return sorted(best, key=lambda one: outcome.rank(one.value.estimate))


def difference_at_best(one: AtBest, other: AtBest, outcome: Outcome) -> Interval:
    """Paired difference of two families, each at its own best rate."""
    return paired_difference(
        one.family.arms[one.rate].by_seed(outcome), other.family.arms[other.rate].by_seed(outcome)
    )


def sensitivity(arms: list[Arm], outcome: Outcome) -> float:
    """Mean over a grid of rates minus the best on it, as a loss: 0 where the rate doesn't matter.

    E_η[min(ℓ(η), ℓ₀)] − min_η ℓ(η), Wortsman et al. 2023, arXiv 2309.14322, section 2.2. ℓ₀ is the trivial
    predictor's loss here, the loss of an untrained model there, so that a diverged run costs what it has not
    learned. An accuracy is turned round, and needs no ℓ₀.
    """
    means = [statistics.fmean(values) for arm in arms if (values := capped(arm, outcome))]
    if len(means) < len(arms) or not all(map(math.isfinite, means)):
        return math.nan
    return abs(statistics.fmean(means) - outcome.best(means))


def capped(arm: Arm, outcome: Outcome) -> list[float]:
    """The outcomes of an arm, losses no worse than the trivial predictor's where that is known."""
    trivial = arm.average(f"trivial:{outcome.metric.rsplit('/', 1)[1]}")
    if outcome.direction == "max" or trivial is None:
        return arm.values(outcome)
    return [min(value, trivial) for value in arm.values(outcome)]
