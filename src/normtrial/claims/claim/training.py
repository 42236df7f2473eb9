"""A claim that only training settles: arms, learning rates, seeds, outcome, readings, gates."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from normtrial.claims.claim.model import Claim
from normtrial.errors import not_one_of, require
from normtrial.report.inference import Interval
from normtrial.training.metrics import METRICS, find

DIRECTIONS = ("up", "down", "equal", "not_worse")
READS = ("final", "best", "mean", "spread", "steps_to_target", "diverged", "happened", "largest_rate")
RULES = ("paired", "rate")
RATES = ("best", "shared")


@dataclass(kw_only=True, slots=True)
class Prediction:
    """What the claim says of the contrast. A size is always positive: in the claimed direction."""

    direction: str  # up: the contrast is positive; down: negative; equal: within ±δ; not_worse: above −δ
    smallest: float  # smallest effect of interest δ, in the outcome's unit; of a log outcome in ln
    size: float | None = None  # as claimed; None where the source gives none

    def check(self, where: str) -> None:
        """A known direction, sizes that mean something."""
        if self.direction not in DIRECTIONS:
            raise not_one_of(f"{where}.direction", self.direction, DIRECTIONS)
        require(self.smallest > 0, f"{where}.smallest={self.smallest} must be positive.")
        require(
            self.size is None or (self.direction in ("up", "down") and self.size >= self.smallest),
            f"{where}.size={self.size} must be at least smallest={self.smallest}, and goes with up and down only.",
        )

    def turned(self, interval: Interval) -> Interval:
        """The interval turned so that the claimed direction is positive."""
        if self.direction != "down":
            return interval
        return Interval(-interval.estimate, -interval.high, -interval.low)


@dataclass(kw_only=True, slots=True)
class Outcome:
    """One number of a run, or of a run at each learning rate."""

    metric: str  # a logged name, such as test/accuracy
    # final; best; mean or spread (detrended sd) over steps; steps_to_target; largest_rate;
    # diverged: 1 where it did, or does not end 1 % below the trivial predictor's loss, else 0;
    # happened: 1 where an event of a kind (events/<kind>) was recorded, else 0
    read: str
    minus: str | None = None  # a gap: this metric is subtracted
    over: str | None = None  # a ratio: divided by this metric
    log: bool = False  # compare logarithms: effects are ratios
    window: list[int] | None = None  # steps [first, last] of mean and spread; None: all
    target: float | None = None  # of steps_to_target, in the metric's unit

    def metrics(self) -> list[str]:
        """Every logged name it reads."""
        return [name for name in (self.metric, self.minus, self.over) if name is not None]

    def check(self, where: str) -> None:
        """A known reading, with what it needs and no more."""
        if self.read not in READS:
            raise not_one_of(f"{where}.read", self.read, READS)
        require(
            (self.read == "steps_to_target") == (self.target is not None),
            f"{where}: target goes with steps_to_target.",
        )
        require(
            self.window is None or self.read in ("mean", "spread"), f"{where}: window goes with mean and spread."
        )
        require(
            self.read != "happened" or self.metric.startswith("events/"),
            f"{where}: read=happened is for events/<kind>.",
        )
        require(self.window is None or len(self.window) == 2, f"{where}.window is [first step, last step].")
        require(
            self.read not in ("final", "best") or has_direction(self.metric),
            f"{where}: {self.metric} has no worst value for a diverged run; read its mean over a window.",
        )
        require(self.minus is None or self.over is None, f"{where}: minus or over, not both.")


@dataclass(kw_only=True, slots=True)
class Gate:
    """What must hold before a task can say anything: a control differs, and the baseline can move both ways."""

    metric: str  # by which it is looked at
    baseline: str  # arm
    margin: float  # the baseline's least distance from chance and from the ceiling, in the metric's unit
    control: str | None = None  # arm that must differ from the baseline: the one without norms
    shuffled: str | None = None  # metric of the baseline's that must differ: with shuffled words


@dataclass(kw_only=True, slots=True)
class Reading:
    """One way to take a claim; all are judged, the primary one is the claim's verdict."""

    says: str
    contrast: dict[str, float] = field(default_factory=dict)  # arm -> weight; sums to 0, but for gaps
    slope: dict[str, float] = field(default_factory=dict)  # arm -> x; the contrast is the least-squares slope
    rate: str = "best"  # best: each arm at its own; shared: all at the claim's shared rate
    outcome: Outcome | None = None  # None: the claim's
    prediction: Prediction | None = None  # None: the claim's
    gates: list[str] | None = None  # names; None: all

    def weights(self) -> dict[str, float]:
        """Arm -> weight.

        >>> Reading(says="", slope={"a": 1.0, "b": 3.0}).weights()
        {'a': -0.5, 'b': 0.5}
        """
        if not self.slope:
            return self.contrast
        mean = sum(self.slope.values()) / len(self.slope)
        square = sum((x - mean) ** 2 for x in self.slope.values())
        return {arm: (x - mean) / square for arm, x in self.slope.items()}


@dataclass(kw_only=True, slots=True)
class Seeds:
    """Never the same for choosing a learning rate and for judging."""

    select: list[int]
    judge: list[int]


@dataclass(kw_only=True, slots=True)
class TrainingClaim(Claim):
    """About what training does."""

    recipe: list[str]  # overrides of every arm
    arms: dict[str, list[str]]  # overrides of each
    grid: list[float]  # learning rates; empty: the configuration's own
    select: str | None  # metric by which an arm's rate is chosen on the selection seeds; None without grid
    seeds: Seeds
    outcome: Outcome
    prediction: Prediction
    readings: dict[str, Reading]
    primary: str  # the reading whose verdict is the claim's
    gates: dict[str, Gate]
    rule: str  # paired: t interval of differences by seed; rate: Newcombe's of two proportions
    family: str  # readings of one family share their error rate (Holm)
    shared: float | None = None  # the rate of readings at the shared rate

    def outcome_of(self, reading: Reading) -> Outcome:
        """Its own, or the claim's."""
        return reading.outcome or self.outcome

    def prediction_of(self, reading: Reading) -> Prediction:
        """Its own, or the claim's."""
        return reading.prediction or self.prediction

    def gates_of(self, reading: Reading) -> list[Gate]:
        """Those it names, or all."""
        return [self.gates[name] for name in (self.gates if reading.gates is None else reading.gates)]

    def check(self) -> None:
        """Everything named exists, and weights are contrasts."""
        Claim.check(self)
        where = self.id
        if self.rule not in RULES:
            raise not_one_of(f"{where}: rule", self.rule, RULES)
        known(f"{where}: primary", [self.primary], self.readings)
        require(not set(self.seeds.select) & set(self.seeds.judge), f"{where}: a seed both selects and judges.")
        require(len(self.seeds.judge) >= 5, f"{where}: fewer than 5 judging seeds.")
        require(bool(self.grid) == bool(self.select), f"{where}: grid and select go together.")
        require(not self.grid or bool(self.seeds.select), f"{where}: a grid needs selection seeds.")
        self.outcome.check(f"{where}: outcome")
        self.prediction.check(f"{where}: prediction")
        reads = {self.outcome_of(reading).read for reading in self.readings.values()}
        require(not (self.gates and "largest_rate" in reads), f"{where}: a claim about the grid has no gates.")
        for outcome in map(self.outcome_of, self.readings.values()):
            is_loss = outcome.metric.endswith("/loss_nats")
            require(
                is_loss or outcome.read not in ("largest_rate", "diverged"),
                f"{where}: whether a run trains is read from a loss, as val/loss_nats; got {outcome.metric}.",
            )
        own = {self.outcome_of(reading).read for reading in self.readings.values() if reading.rate == "best"}
        require(
            "largest_rate" not in own or own == {"largest_rate"},
            f"{where}: where the grid is judged no rate is chosen; other readings need rate: shared; got {own}.",
        )
        for name, gate in self.gates.items():
            known(f"{where}: gates.{name}", [gate.baseline, *([gate.control] if gate.control else [])], self.arms)
            require(
                bool(gate.control or gate.shuffled), f"{where}: gates.{name} needs a control or a shuffled metric."
            )
        for name, reading in self.readings.items():
            self._check_reading(f"{where}: readings.{name}", reading)

    def _check_reading(self, where: str, reading: Reading) -> None:
        require(bool(reading.contrast) != bool(reading.slope), f"{where}: contrast or slope.")
        weights = reading.weights()
        known(where, weights, self.arms)
        outcome = self.outcome_of(reading)
        # A difference, or the logarithm of a ratio, by itself may be held against 0.
        is_gap = outcome.minus is not None or (outcome.over is not None and outcome.log)
        require(is_gap or abs(sum(weights.values())) < 1e-9, f"{where}: weights {weights} must sum to 0.")
        known(f"{where}.gates", reading.gates or [], self.gates)
        if reading.rate not in RATES:
            raise not_one_of(f"{where}.rate", reading.rate, RATES)
        require(reading.rate == "best" or self.shared is not None, f"{where}: the claim has no shared rate.")
        outcome.check(f"{where}.outcome")
        self.prediction_of(reading).check(f"{where}.prediction")
        require(
            self.rule == "paired" or sorted(weights.values()) == [-1, 1],
            f"{where}: rule=rate compares two arms, with weights 1 and -1.",
        )


def has_direction(metric: str) -> bool:
    """Whether more, or less, of a logged metric is better."""
    found = find(metric)
    if found is None:
        raise not_one_of("metric", metric, [row.pattern for row in METRICS])
    return found.direction is not None


def known(where: str, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise `ConfigError` at the first name that does not exist."""
    for name in names:
        if name not in allowed:
            raise not_one_of(where, name, allowed)
