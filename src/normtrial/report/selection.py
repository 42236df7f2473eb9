"""Which runs are compared, and with what: filters on the configuration, sweep folders, the reference arm."""

import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from normtrial.errors import ConfigError, not_one_of
from normtrial.records import RunFolder, list_runs, read_json
from normtrial.report.arms import ABSENT, Arm, Run, choice

ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
CONDITION = re.compile(r"([\w.]+)\s*(!=|<=|>=|=|<|>)\s*(.*)", re.DOTALL)
Named = Callable[[str, Path], list[RunFolder]]  # the runs of a store that a word stands for
OF_THE_RUN = {"status": lambda run: run.status, "task": lambda run: run.task, "run": lambda run: run.folder.run_id}
USUAL = ({"norm.name": "ln", "placement.name": "pre"}, {"norm.name": "ln"})  # the reference where none is named


@dataclass(frozen=True, slots=True)
class Condition:
    """`key=value[,value…]`, `key!=…`, or an order such as `optim.lr<1e-2`."""

    text: str
    key: str
    sign: str
    values: list[Any]

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read it as it is typed; values are read as in a configuration, so 1e-3 is a number."""
        match = CONDITION.fullmatch(text.strip())
        if match is None or not match[3]:
            raise ConfigError(
                f"filter {text!r} is not understood; write key=value[,value…], key!=value or key<value."
            )
        given = [match[3]] if match[3].startswith("[") else match[3].split(",")
        values = [OmegaConf.to_container(OmegaConf.from_dotlist([f"v={value}"]))["v"] for value in given]  # pyright: ignore
        if match[2] in ORDER and not (len(values) == 1 and is_number(values[0])):
            raise ConfigError(f"filter {text!r}: {match[2]} compares with one number.")
        return cls(text, match[1], match[2], values)

    def holds(self, value: Any) -> bool:
        """Whether a run with this value is taken; one that lacks the key has no value to order."""
        if self.sign in ORDER:
            return is_number(value) and ORDER[self.sign](value, self.values[0])
        return any(same(value, wanted) for wanted in self.values) is (self.sign == "=")


def is_number(value: Any) -> bool:
    """Whether a value can be ordered."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(value: Any, wanted: Any) -> bool:
    """Equality in which `true` is not 1."""
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def select(words: Iterable[str], store: Path, named_runs: Named | None = None) -> list[Run]:
    """The runs of a store that satisfy every condition; a word without a sign names runs, by default a sweep's."""
    words, of_name = list(words), named_runs or runs_of_sweep
    conditions = [Condition.parse(word) for word in words if CONDITION.fullmatch(word)]
    named = [word for word in words if not CONDITION.fullmatch(word)]
    folders = [folder for word in named for folder in of_name(word, store)] if named else list_runs(store)
    if not folders:
        raise ConfigError(f"no run in {store}; say where runs are by --store.")
    runs = list(readable(folders))
    for condition in conditions:
        runs = satisfying(condition, runs)
    return runs


def readable(folders: Iterable[RunFolder], read: Callable[[RunFolder], Run | None] = Run.read) -> Iterator[Run]:
    """The runs that can be read, each once; says on stderr which cannot. Where `read` gives None there is none."""
    for folder in {folder.run_id: folder for folder in folders}.values():
        try:
            run = read(folder)
        except (OSError, ValueError) as error:
            print(f"{folder.path} is left out: {error}", file=sys.stderr)
        else:
            if run is not None:
                yield run


def satisfying(condition: Condition, runs: list[Run]) -> list[Run]:
    """The runs for which a condition holds; an error that names the nearest value where there is none."""
    read = reader(condition.key, runs)
    found = [run for run in runs if condition.holds(read(run))]
    if found:
        return found
    present = sorted({str(value) for run in runs if (value := read(run)) != ABSENT})
    if condition.sign == "=" and len(condition.values) == 1:
        raise not_one_of(condition.key, condition.values[0], present, " in these runs")
    raise ConfigError(f"no run satisfies {condition.text!r}; {condition.key} is {', '.join(present)} here.")


def reader(key: str, runs: list[Run]) -> Callable[[Run], Any]:
    """How a key is read from a run: a group stands for the name of its option, a dotted leaf for itself."""
    if key in OF_THE_RUN:
        return OF_THE_RUN[key]
    leaf = leaf_of(key, [run.config for run in runs])
    return lambda run: run.config.get(leaf, ABSENT)


def leaf_of(key: str, configs: Iterable[dict[str, Any]]) -> str:
    """The leaf that a key means; an error with the closest that there is."""
    known = dict.fromkeys(name for config in configs for name in config)
    for leaf in (key, choice(key) if "." not in key else key, "precision.compute" if key == "precision" else key):
        if leaf in known:
            return leaf
    groups = {name.split(".")[0] for name in known if choice(name) in known}
    raise not_one_of("key", key, {*known, *groups, *OF_THE_RUN})


def runs_of_sweep(word: str, store: Path) -> list[RunFolder]:
    """The runs of a sweep by its folder, or by the folder's name beside the store."""
    beside = store.parent / "sweeps"
    folder = next((path for path in (Path(word), beside / word) if path.is_dir()), None)
    if folder is None:
        raise not_one_of("sweep", word, [path.name for path in beside.glob("*")], f" as a folder or in {beside}")
    jobs = [read_json(path) or {} for path in sorted(folder.glob("*/job.json"))]
    found = [RunFolder(store / job["run_id"]) for job in jobs if "run_id" in job]
    if not found:
        raise ConfigError(f"{folder} is no sweep: it holds no */job.json that names a run.")
    return [run for run in found if (run.path / "config.yaml").exists()]


def references(arms: list[Arm], pattern: str | None = None) -> list[Arm]:
    """For each arm the one it is compared with: of those that fit the pattern, the one most like it.

    So a sweep over rates or batch sizes compares each arm with the reference at its own rate and batch size.
    `pattern` is `norm=ln,placement=pre`; without one it is that where there is such an arm, else the first arm
    with the most runs.
    """
    configs = [arm.config for arm in arms]
    if pattern:
        conditions = [Condition.parse(part) for part in pattern.split(",")]
        leaves = {leaf_of(condition.key, configs): condition for condition in conditions}
        fitting = [arm for arm in arms if all(c.holds(arm.config.get(leaf, ABSENT)) for leaf, c in leaves.items())]
        if not fitting:
            raise not_one_of("reference", pattern, [arm.name for arm in arms], " among these arms")
    else:
        usual = ([a for a in arms if wanted.items() <= a.config.items()] for wanted in USUAL)
        fitting = next((found for found in usual if found), [max(arms, key=lambda arm: len(arm.runs))])
    return [reference_of(arm, fitting) for arm in arms]


def reference_of(arm: Arm, fitting: list[Arm]) -> Arm:
    """The most like among those that learned from the same text; where there is none, the arm itself."""
    alike = [other for other in fitting if other.config.get("data.source") == arm.config.get("data.source")]
    return arm if any(arm is other for other in alike) or not alike else min(alike, key=lambda o: unlike(arm, o))


def unlike(arm: Arm, other: Arm) -> int:
    """In how many leaves two arms differ that both have."""
    pairs = ((value, other.settings[leaf]) for leaf, value in arm.settings.items())
    return sum(ours != theirs and ABSENT not in (ours, theirs) for ours, theirs in pairs)
