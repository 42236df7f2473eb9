"""What a sweep has to do: its distinct runs, where each stands, and how long the rest will take."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from tqdm import tqdm

from normtrial import identity
from normtrial.config import Config, as_dict
from normtrial.data import catalogue
from normtrial.report.arms import makes_an_arm
from normtrial.sweep.entry import RESULTS, Entry, standing
from normtrial.training.sinks.record import leaves

IN_WORDS = {
    "new": "to do",
    "interrupted": "interrupted, to be resumed",
    "crashed": "crashed, to be tried again",
    "busy": "trained by another process, to be waited for",
    "finished": "done",
    "diverged": "done, diverged",
}


def plan(jobs: Iterable[list[str]], compose: Callable[[list[str]], Config]) -> list[Entry]:
    """The run of each job, all composed and checked before any text is read. Jobs may share a run."""
    composed = [(overrides, compose(overrides)) for overrides in jobs]
    fingerprints: dict[str, str] = {}
    entries: dict[Path, Entry] = {}
    planned: list[Entry] = []
    for overrides, config in composed:
        data = repr(config.data)
        if data not in fingerprints:
            fingerprints[data] = catalogue.fingerprint(config.data, Path(config.cache))
        folder = identity.folder_of(config, fingerprints[data])
        if folder.path not in entries:
            status = "new" if config.rerun else standing(folder)
            name = identity.run_name(config)
            entries[folder.path] = Entry(overrides, name, config.train.steps, folder, config, status)
        planned.append(entries[folder.path])
    return planned


def distinct(planned: Iterable[Entry]) -> list[Entry]:
    """Each run once."""
    return list({id(entry): entry for entry in planned}.values())


def by_other_code(entries: Iterable[Entry]) -> int:
    """How many results are of a code that has changed since."""
    codes = [entry.folder.read_meta().get("code_hash") for entry in entries if is_done(entry)]
    return sum(code not in (None, identity.code_hash()) for code in codes)


def in_short(entries: Sequence[Entry]) -> str:
    """How many runs, and how many of them have their result.

    >>> in_short([])
    '0 runs'
    """
    done = sum(map(is_done, entries))
    return f"{len(entries)} run{'s' * (len(entries) != 1)}" + (f", {done} of them done" if done else "")


def print_plan(entries: Sequence[Entry], workers: int, console: Console | None = None) -> None:
    """One row for every way in which runs stand, and the time that the rest will take."""
    console = console or Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("runs", justify="right")
    table.add_column("")
    table.add_column("which", overflow="fold")
    counts = Counter(entry.status for entry in entries)
    for status, words in IN_WORDS.items():
        if counts[status]:
            names = [entry.name for entry in entries if entry.status == status]
            shown = ", ".join(names[:8]) + (f", … {len(names) - 8} more" if len(names) > 8 else "")
            table.add_row(str(counts[status]), words, shown)
    console.print(table)
    left = [entry for entry in entries if not is_done(entry)]
    seconds = estimate(left, entries)
    if not left:
        console.print("Nothing is left to train.")
    elif seconds is None:
        console.print("How long it takes is unknown: none of these runs has finished yet.")
    else:
        time = tqdm.format_interval(round(seconds / min(workers, len(left))))
        console.print(f"About {time} on {workers} worker{'s' * (workers > 1)}, from the times of finished runs.")


def is_done(entry: Entry) -> bool:
    """Whether a run has its result."""
    return entry.status in RESULTS


def estimate(left: Sequence[Entry], entries: Sequence[Entry]) -> float | None:
    """Seconds of work left, one run after the other; None where no run has finished.

    A step takes what it took the median finished run of the same arm; where it has none, that of the sweep.
    """
    times: dict[str, list[float]] = {}
    for entry in filter(is_done, entries):
        summary = entry.folder.read_summary() or {}
        if summary.get("steps"):
            times.setdefault(arm_of(entry.config), []).append(summary["seconds"] / summary["steps"])
    if not times:
        return None
    usual = statistics.median(time for arm in times.values() for time in arm)
    typical = {arm: statistics.median(found) for arm, found in times.items()}
    return sum(steps_left(entry) * typical.get(arm_of(entry.config), usual) for entry in left)


def arm_of(config: Config) -> str:
    """What is the same for all seeds of an arm."""
    return repr([pair for pair in leaves(as_dict(config)) if makes_an_arm(pair[0])])


def steps_left(entry: Entry) -> int:
    """Steps that an interrupted run has not taken yet; all of another's."""
    done = (entry.folder.read_summary() or {}).get("steps", 0) if entry.status == "interrupted" else 0
    return max(entry.steps - done, 0)
