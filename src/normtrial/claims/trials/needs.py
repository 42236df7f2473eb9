"""Which runs a claim needs. A trial is one run to be: overrides without the seed in a canonical order, and a seed.

Two claims that ask for the same trial share it. Needs no torch.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from normtrial.claims.claim.training import TrainingClaim


@dataclass(frozen=True, slots=True, order=True)
class Trial:
    """One run to be."""

    arm: str  # overrides in alphabetical order, one space between
    seed: int

    def overrides(self) -> list[str]:
        """As the command line takes them."""
        return [*self.arm.split(" "), f"seed={self.seed}"]


def canonical(*overrides: str) -> str:
    """Each key once with its last value, groups before single values, else in alphabetical order.

    >>> canonical("norm=ln", "norm.eps=1e-5", "norm=bn")
    'norm=bn norm.eps=1e-5'
    """
    last = dict(override.split("=", 1) for override in overrides)
    return " ".join(f"{key}={last[key]}" for key in sorted(last, key=lambda key: ("." in key, key)))


def arm_at(claim: TrainingClaim, arm: str, rate: float | None) -> str:
    """An arm's overrides at a learning rate; None leaves the configuration's."""
    lr = [] if rate is None else [f"optim.lr={rate:g}"]
    return canonical(*claim.recipe, *claim.arms[arm], *lr)


def judging_seeds(claim: TrainingClaim, num: int | None) -> list[int]:
    """The registered ones; or the first so many, counting on where there are fewer."""
    seeds = list(claim.seeds.judge)
    if num is None:
        return seeds
    taken = {*seeds, *claim.seeds.select}
    following = (seed for seed in range(max(taken) + 1, max(taken) + 1 + num))
    return [*seeds, *following][:num]


def reads_whole_grid(claim: TrainingClaim) -> bool:
    """True where an outcome is about the grid itself: then every rate is run on every judging seed."""
    return any(claim.outcome_of(reading).read == "largest_rate" for reading in claim.readings.values())


def selecting(claim: TrainingClaim) -> Iterator[Trial]:
    """The runs that choose each arm's learning rate; none where the grid itself is judged, at every rate."""
    for arm in [] if reads_whole_grid(claim) else arms_at(claim, "best"):
        for rate in claim.grid:
            yield from (Trial(arm_at(claim, arm, rate), seed) for seed in claim.seeds.select)


def judging(claim: TrainingClaim, best: dict[str, float], num_seeds: int | None = None) -> Iterator[Trial]:
    """The runs that are judged, given each arm's best rate (absent: not chosen yet)."""
    for seed in judging_seeds(claim, num_seeds):
        for arm in arms_at(claim, "best"):
            if not claim.grid:
                yield Trial(arm_at(claim, arm, None), seed)
            elif reads_whole_grid(claim):
                yield from (Trial(arm_at(claim, arm, rate), seed) for rate in claim.grid)
            elif arm in best:
                yield Trial(arm_at(claim, arm, best[arm]), seed)
        for arm in arms_at(claim, "shared"):
            yield Trial(arm_at(claim, arm, claim.shared), seed)


def arms_at(claim: TrainingClaim, rate: str) -> list[str]:
    """The arms that some reading at this kind of rate, or a gate of it, looks at."""
    wanted: dict[str, None] = {}
    for reading in claim.readings.values():
        if reading.rate == rate:
            wanted |= dict.fromkeys(reading.weights())
            for gate in claim.gates_of(reading):
                wanted |= dict.fromkeys([gate.baseline, *([gate.control] if gate.control else [])])
    return [arm for arm in claim.arms if arm in wanted]


def metrics_of(claims: Iterable[TrainingClaim]) -> list[str]:
    """Every logged name that these claims read, for what is kept of a run."""
    names: set[str] = set()
    for claim in claims:
        names |= {claim.select} if claim.select else set()
        for reading in claim.readings.values():
            names |= set(claim.outcome_of(reading).metrics())
        for gate in claim.gates.values():
            names |= {gate.metric} | ({gate.shuffled} if gate.shuffled else set())
    return sorted(names)
