"""`claim.py plan` and `claim.py run` of training claims."""

import os
import statistics
from collections.abc import Callable, Iterable
from pathlib import Path

from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging.evidence import Evidence, has
from normtrial.claims.trials.collect import Resolver, collect, planned, was_watched
from normtrial.claims.trials.needs import Trial

WORKERS = len(os.sched_getaffinity(0))
A_RUN_S = 30.0  # where none has been timed yet: what trials are sized to


def seconds_of(trials: Iterable[Trial], found: Evidence) -> float:
    """Estimated compute: by the arm's own runs, else by the median of all, else half a minute."""
    own: dict[str, list[float]] = {}
    for record in found.values():
        own.setdefault(record.arm, []).append(record.seconds)
    every = [seconds for each in own.values() for seconds in each]
    usual = statistics.median(every) if every else A_RUN_S
    return sum(statistics.fmean(own[trial.arm]) if trial.arm in own else usual for trial in trials)


def plan(
    claims: list[TrainingClaim], found: Evidence, num_seeds: int | None = None, workers: int = WORKERS
) -> list[Trial]:
    """Print runs and hours, claim by claim and together; the trials that are left."""
    for claim in claims:
        trials, later = planned([claim], found, num_seeds)
        left = [trial for trial, names in trials.items() if not has(found, trial, names)]
        print(f"{claim.id:<12} {len(trials) + len(later):>5} runs, {len(left) + len(later):>5} left")
    trials, later = planned(claims, found, num_seeds)
    left = [trial for trial, names in trials.items() if not has(found, trial, names)]
    usual = seconds_of(left, found) / len(left) if left else A_RUN_S
    hours = (seconds_of(left, found) + len(later) * usual) / 3600 / workers
    print(f"together {len(left)} runs are left, and {len(later)} more once rates are chosen; claims share runs")
    print(f"about {hours:.1f} hours on {workers} workers")
    return left


def tell_if_unwatched(resolver: Resolver, trial: Trial) -> None:
    """Why a trial stays open although its run has ended."""
    folder, config = resolver.folder(trial), resolver.config(trial)
    if folder.read_summary() is not None and not was_watched(folder, config):
        print(
            f"{folder.path} was made without the probes {', '.join(config.probe.names)}: move it away, run again"
        )


def run(
    claims: list[TrainingClaim],
    every: list[TrainingClaim],
    folder: Path,
    resolver: Resolver,
    start: Callable[[list[Trial]], None],
    num_seeds: int | None = None,
) -> Evidence:
    """Train what is missing, choose rates, train the rest; may be stopped at any moment and called again.

    Args:
        claims: those asked for.
        every: all claims; runs of theirs that are kept stay.
        start: trains trials.
    """
    tried = set[Trial]()
    while True:
        found = collect(claims, every, folder, resolver, num_seeds)
        trials, _ = planned(claims, found, num_seeds)
        left = [trial for trial, names in trials.items() if not has(found, trial, names) and trial not in tried]
        if not left:
            for trial in trials.keys() - found.keys():
                tell_if_unwatched(resolver, trial)
            return found
        tried |= set(left)  # what crashes is told once, and taken up by the next call
        start(left)
