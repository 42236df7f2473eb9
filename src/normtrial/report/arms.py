"""Arms: runs that differ in nothing but the seed, named by what tells them from the other arms.

Nothing is dropped silently. A diverged run is a result and counts in its arm's mean with the worst value its
metric has (0 for an accuracy; for a loss there is none, so the mean does not exist). A crashed or interrupted
run has no result yet: it is left out of the mean and shown beside it.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from normtrial.errors import ConfigError
from normtrial.records import RunFolder, is_scientific
from normtrial.report.outcome import Outcome
from normtrial.report.stored import config_of

ABSENT = "absent"  # the value of a leaf that an arm does not have (momentum, for a LayerNorm)


@dataclass(slots=True)
class Run:
    """One run as read from disk: its folder, its configuration's leaves, its summary (None: not ended)."""

    folder: RunFolder
    config: dict[str, Any]
    summary: dict[str, Any] | None

    @classmethod
    def read(cls, folder: RunFolder) -> "Run":
        """Read a run's configuration and summary."""
        return cls(folder, config_of(folder), folder.read_summary())

    @property
    def status(self) -> str:
        """One of the four statuses; a run without summary is `interrupted` (or still going)."""
        return self.summary["status"] if self.summary else "interrupted"

    @property
    def task(self) -> str | None:
        """`classification`, `lm`, or None while unknown."""
        return self.summary.get("task") if self.summary else None

    def value(self, outcome: Outcome) -> float | None:
        """The run's outcome: None without a result, the worst value where it diverged."""
        if self.summary is None or self.status not in ("finished", "diverged"):
            return None
        value = self.summary["metrics"].get(outcome.metric)
        # strict JSON: a non-finite value is null or its name.
        finite = isinstance(value, int | float) and math.isfinite(value)
        return float(value) if finite and self.status == "finished" else outcome.worst


@dataclass(slots=True)
class Arm:
    """Runs with one configuration and several seeds."""

    name: str
    runs: list[Run]
    settings: dict[str, Any] = field(default_factory=dict)  # the leaves in which the arms differ
    told: list[str] = field(default_factory=list)  # those of them that the name says

    def count(self, status: str) -> int:
        """How many of the runs ended in this status."""
        return sum(run.status == status for run in self.runs)

    def values(self, outcome: Outcome) -> list[float]:
        """The outcome of every run that has a result."""
        return [value for run in self.runs if (value := run.value(outcome)) is not None]

    def by_seed(self, outcome: Outcome) -> dict[int, float]:
        """The outcome of every run that has a result, under its seed: what pairs it with another arm's."""
        found = {run.config["seed"]: run.value(outcome) for run in self.runs}
        return {seed: value for seed, value in found.items() if value is not None}

    @property
    def config(self) -> dict[str, Any]:
        """The leaves that all of its runs share."""
        return {name: value for name, value in self.runs[0].config.items() if makes_an_arm(name)}

    def mean(self, outcome: Outcome) -> float:
        """Mean over seeds; not finite without results, or where a diverged run has no worst value."""
        values = self.values(outcome)
        return statistics.fmean(values) if values else math.nan

    def spread(self, outcome: Outcome) -> float | None:
        """Standard deviation over seeds (n - 1 in the denominator); None for fewer than two or not finite."""
        values = self.values(outcome)
        return statistics.stdev(values) if len(values) > 1 and all(map(math.isfinite, values)) else None

    def best(self, outcome: Outcome) -> float | None:
        """The best value any of its runs reached at any evaluation."""
        seen = [((run.summary or {}).get("best") or {}).get(outcome.metric) for run in self.runs]
        values = [pair[0] for pair in seen if pair and isinstance(pair[0], int | float)]
        return outcome.best(values) if values else None

    def average(self, path: str) -> float | None:
        """Mean over runs of a number in the summary, `section:name`, where they have it."""
        section, name = path.split(":")
        found = [((run.summary or {}).get(section) or {}).get(name) for run in self.runs]
        numbers = [value for value in found if isinstance(value, int | float)]
        return statistics.fmean(numbers) if numbers else None


def group(folders: Iterable[RunFolder | Run]) -> list[Arm]:
    """Group runs, read already or not, into arms, in the order in which arms first appear."""
    arms: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for folder in folders:
        run = folder if isinstance(folder, Run) else Run.read(folder)
        key = tuple(sorted((name, repr(value)) for name, value in run.config.items() if makes_an_arm(name)))
        arms.setdefault(key, []).append(run)
    grouped = [Arm("", sorted(runs, key=lambda run: run.config.get("seed") or 0)) for runs in arms.values()]
    name_arms(grouped)
    return grouped


def makes_an_arm(name: str) -> bool:
    """Whether a config leaf makes an arm: all but the seed, paths, logging and the machine."""
    return name != "seed" and is_scientific(name)


def name_arms(arms: list[Arm]) -> None:
    """Set every arm's name and settings from the leaves in which the arms differ.

    A group's `name` stands for the leaves it brings along: `bn` against `ln`, without "momentum=0.1". Those
    are named only where arms of the same `name` differ in them.
    """
    configs = [arm.config for arm in arms]
    names = differing(configs)
    for arm, config, told in zip(arms, configs, telling(configs, names), strict=True):
        arm.settings = {leaf: config.get(leaf, ABSENT) for leaf in names}
        arm.told = told
        arm.name = name_of(config, told)
    # Two groups may have a leaf of the same last name; then only its whole name tells.
    twice = {name for name, num in Counter(arm.name for arm in arms).items() if num > 1}
    for arm in arms:
        if arm.name in twice:
            arm.name = " ".join(f"{leaf}={value}" for leaf, value in arm.settings.items())
            arm.told = list(arm.settings)


def differing(configs: list[dict[str, Any]]) -> list[str]:
    """The leaves that don't have one and the same value in all configurations, in config order."""
    names = dict.fromkeys(name for config in configs for name in config)
    return [name for name in names if _differs(name, configs)]


def _differs(name: str, configs: list[dict[str, Any]]) -> bool:
    return len({repr(config.get(name, ABSENT)) for config in configs}) > 1


def telling(configs: list[dict[str, Any]], names: list[str]) -> list[list[str]]:
    """For each configuration those of the leaves in which all differ that its name needs, group by group."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for config, key in itertools.product(configs, {choice(leaf) for leaf in names}):
        alike.setdefault((key, repr(config.get(key))), []).append(config)
    within = {chosen: {leaf for leaf in names if _differs(leaf, some)} for chosen, some in alike.items()}

    def needed(leaf: str, config: dict[str, Any]) -> bool:
        key = choice(leaf)
        return leaf in config and (leaf == key or leaf in within[key, repr(config.get(key))])

    return [[leaf for leaf in names if needed(leaf, config)] for config in configs]


def choice(leaf: str) -> str:
    """The leaf that says which option of its group was chosen."""
    group_name = leaf.split(".")[0]
    return "data.source" if group_name == "data" else f"{group_name}.name"


def name_of(config: dict[str, Any], told: list[str]) -> str:
    """A name that says these leaves of a configuration."""
    return " ".join(_label(leaf, config) for leaf in told) or _common_name(config)


def _label(leaf: str, config: dict[str, Any]) -> str:
    if leaf == choice(leaf):
        return str(config[leaf])
    # An eps is the norm's, which is what is studied; the optimizer's is named in full.
    name = leaf.split(".", 1)[-1]
    taken = not leaf.startswith("norm.") and f"norm.{name}" in config
    return f"{leaf if taken else name}={config[leaf]}"


def _common_name(config: dict[str, Any]) -> str:
    chosen = [config.get(f"{part}.name") for part in ("norm", "placement")]
    return " ".join(str(name) for name in chosen if name) or "all runs"


def only_task(arms: list[Arm]) -> str | None:
    """The one task that all ended runs of these arms share; None where none has ended."""
    tasks = {run.task for arm in arms for run in arm.runs if run.task}
    if len(tasks) > 1:
        raise ConfigError(f"these runs have several tasks ({', '.join(sorted(tasks))}); compare one at a time.")
    return next(iter(tasks), None)
