"""From a plan to results: launch, read what became of it, launch what is left, until nothing is."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from normtrial.records import last_row
from normtrial.sweep.entry import FAILURES, RESULTS, Entry, Notes, is_held, standing
from normtrial.sweep.live import Live
from normtrial.sweep.stop import for_one_thread_only, stopping_at_signals

MAX_ATTEMPTS = (
    3  # one death may be chance, as on a full machine; a run that kills each of its processes must not loop
)
LOOK_AGAIN_S = 0.5  # at runs of other processes


@dataclass(slots=True)
class Launching:
    """The configured launcher."""

    launch: Callable[[list[list[str]], int], Any]  # lists of overrides, and the number of the first
    workers: int  # that it keeps busy
    at_once: int | None = None  # runs a call, where it would begin all it is given at once


def carry_out(entries: Sequence[Entry], launching: Launching, folder: Path, on_failure: str) -> None:
    """Train what has no result yet. Each entry ends with one or as a failure, unless the sweep is stopped.

    A run whose process died is taken up again, up to `MAX_ATTEMPTS` processes; one that another process is at is
    waited for, and taken over where that process ends without a result. A crash is left to the next command.

    Raises:
        KeyboardInterrupt: Ctrl-C, SIGTERM or a file `stop` in the folder; running jobs have kept their state.
    """
    notes, stop = Notes(folder), folder / "stop"
    folder.mkdir(parents=True, exist_ok=True)
    stop.unlink(missing_ok=True)
    for entry in entries:
        if entry.status not in (*RESULTS, "busy"):
            entry.status = "new"  # also what crashed before
    with stopping_at_signals(stop), Live(entries, notes, stop):
        while not stop.exists() and (left := [entry for entry in entries if not entry.has_ended]):
            ready = [entry for entry in left if entry.status != "busy"]
            if ready:
                launch(ready[: launching.at_once], launching, notes, stop)
            else:
                time.sleep(LOOK_AGAIN_S)
            for entry in left:
                if entry.status == "busy":
                    look(entry)
            if on_failure == "stop" and any(entry.status in FAILURES for entry in entries):
                stop.touch()
    if stop.exists() and not any(entry.status in FAILURES for entry in entries):
        left = sum(not entry.has_ended for entry in entries)
        print(
            f"normtrial: stopped with {left} of {len(entries)} runs left; the same command goes on.",
            file=sys.stderr,
        )
        raise KeyboardInterrupt


def launch(batch: Sequence[Entry], launching: Launching, notes: Notes, stop: Path) -> None:
    """One call of the launcher, and what became of each entry."""
    first, error = notes.next_number(), "it did not begin it"
    for number, entry in enumerate(batch, first):
        entry.number = number
        entry.attempts += 1
    try:
        with for_one_thread_only():
            launching.launch([entry.overrides for entry in batch], first)
    except KeyboardInterrupt:  # a second signal, or the first to a job within this process
        stop.touch()
    except Exception as caught:  # as joblib's, when a worker was killed
        error = f"{type(caught).__name__}: {caught}"
        print(f"normtrial: the launcher gave up: {error.splitlines()[0]}", file=sys.stderr, flush=True)
    for entry in batch:
        learn(entry, notes)
    if not stop.exists() and not any(notes.of(entry.number or 0) for entry in batch):
        for entry in batch:  # it would not begin them the next time either
            entry.status, entry.error = "crashed", f"the launcher gave up: {error}"


def learn(entry: Entry, notes: Notes) -> None:
    """Set where an entry stands after a launch, from its job's note."""
    assert entry.number is not None
    note = notes.of(entry.number)
    status = note.get("status")
    if status in (*RESULTS, "crashed"):
        entry.status, entry.error = status, note.get("error", "")
    elif status is None or status == "busy":
        entry.attempts -= 1
        entry.status = "new" if status is None else "busy"
    elif is_held(entry.folder):
        entry.status = "busy"  # its worker died, not what trains
    elif status == "running" and standing(entry.folder) in RESULTS and not entry.config.rerun:
        entry.status = standing(entry.folder)
    elif entry.attempts >= MAX_ATTEMPTS:
        step = (last_row(entry.folder.metrics_path) or {}).get("step", 0)
        entry.status, entry.error = "killed", f"{entry.attempts} processes died at it, the last after step {step}"
    else:
        entry.status = "new"


def look(entry: Entry) -> None:
    """Set where an entry stands that another process is at, or was."""
    found = standing(entry.folder)
    entry.status = found if found in (*RESULTS, "busy") else "new"
