"""Local runs that trained without W&B, mirrored: each once, whichever command comes again after whatever kill."""

from collections import Counter
from collections.abc import Iterable
from typing import get_args

from normtrial.dashboard.replay import End, is_mirrored, replay
from normtrial.records import lock
from normtrial.report.arms import Run
from normtrial.training.sinks.record import WandbLogConfig

ENDED = ("finished", "diverged")  # others are taken up again, and their records change
SAID = {
    "mirrored": "mirrored",
    "failed": "failed in W&B",
    "clash": "kept back (W&B has another record of the same id: delete it there, or name another --project)",
    "before": "mirrored before",
    "live": "mirrored while training (wandb sync <run>/wandb)",
    "open": "not ended",
    "busy": "being trained",
}


def sync(runs: Iterable[Run], log: WandbLogConfig) -> Counter[str]:
    """Mirror what is not mirrored yet; how many runs came to which end, by the keys of `SAID`."""
    counts: Counter[str] = Counter()
    for run in runs:
        end = mirror(run, log)
        counts[end] += 1
        if end in get_args(End):
            print(f"{SAID[end]}: {run.folder.path}", flush=True)
    return counts


def mirror(run: Run, log: WandbLogConfig) -> str:
    """One run's end, a key of `SAID`."""
    with lock(run.folder.path / ".lock", wait=False) as mine:
        if not mine:
            return "busy"
        run = Run.read(run.folder)  # it may have gone on since it was selected
        if run.status not in ENDED:
            return "open"
        if "log.mode" in run.config:
            return "live"
        if is_mirrored(run.folder, log):
            return "before"
        return replay(run.folder, log)


def in_words(counts: Counter[str]) -> str:
    """The line at the end.

    >>> in_words(Counter({"before": 2, "mirrored": 1}))
    '1 run mirrored, 2 mirrored before'
    """
    told = [f"{counts[end]} {words}" for end, words in SAID.items() if counts[end]]
    first, _, rest = (told[0] if told else "0 mirrored").partition(" ")
    return ", ".join([f"{first} run{'' if first == '1' else 's'} {rest}", *told[1:]])
