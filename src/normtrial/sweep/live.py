"""A sweep as a person sees it: one live line on a terminal, elsewhere a line a run that has ended.

A thread reads what jobs leave in files, so it shows any launcher's, on this machine or another.
"""

import sys
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

from tqdm import tqdm

from normtrial.records import last_row
from normtrial.sweep.entry import FAILURES, RESULTS, Entry, Notes

EVERY_S = 0.5  # as often as one can read, seldom enough for a few hundred files


class Live:
    """While it is entered, says how far the sweep is."""

    def __init__(self, entries: Sequence[Entry], notes: Notes, stop: Path, stream: TextIO | None = None):
        self._entries, self._notes, self._stop = entries, notes, stop
        self._stream = stream or sys.stderr  # this object: jobs within this process put another in its place
        self._began, self._over = monotonic(), threading.Event()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._told = {id(entry) for entry in entries if entry.has_ended}
        self._steps_before = sum(map(self._steps, entries))
        self._bar: tqdm | None = None
        if self._stream.isatty():
            total = sum(entry.steps for entry in entries)
            form = "{desc} |{bar}|"
            self._bar = tqdm(total=total, file=self._stream, dynamic_ncols=True, bar_format=form)

    def __enter__(self) -> "Live":
        self._thread.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._over.set()
        self._thread.join()
        self._tell()
        if self._bar is not None:
            self._bar.close()

    def _go_on(self) -> None:
        while not self._over.wait(EVERY_S):
            with suppress(OSError, ValueError):  # a shared disk's moods; the next look is soon
                self._tell()

    def _tell(self) -> None:
        standings = [(entry, self._status(entry)) for entry in self._entries]
        steps = sum(map(self._steps, self._entries))
        state = in_words(Counter(status for _, status in standings), self._time_left(steps))
        if self._stop.exists():
            state += "; stopping, running jobs keep their state"
        for entry, status in standings:
            if id(entry) not in self._told and status in (*RESULTS, *FAILURES):
                self._told.add(id(entry))
                self._say(entry, status, state)
        if self._bar is not None:
            self._bar.set_description_str(state, refresh=False)
            self._bar.update(steps - self._bar.n)
            self._bar.refresh()

    def _say(self, entry: Entry, status: str, state: str) -> None:
        if self._bar is None:
            error = f": {first_line(self._error(entry))}" if status in FAILURES else ""
            line = f"{entry.name} {status} (run {entry.folder.run_id}){error}; {state}"
            print(line, file=self._stream, flush=True)
        elif status in FAILURES:
            self._bar.write(f"{entry.name} {status}: {first_line(self._error(entry))}", file=self._stream)

    def _status(self, entry: Entry) -> str:
        if entry.has_ended or entry.number is None:
            return entry.status
        return self._notes.of(entry.number).get("status", "new")

    def _error(self, entry: Entry) -> str:
        return entry.error or self._notes.of(entry.number or 0).get("error", "")

    def _steps(self, entry: Entry) -> int:
        """Steps that a run has taken; an ended one, all it will."""
        status = self._status(entry)
        if status in (*RESULTS, *FAILURES):
            return entry.steps
        row = last_row(entry.folder.metrics_path) if status in ("running", "busy") else None
        return min((row or {}).get("step", 0), entry.steps)

    def _time_left(self, steps: int) -> str:
        done, left = steps - self._steps_before, sum(entry.steps for entry in self._entries) - steps
        if left == 0:
            return "00:00"
        return tqdm.format_interval(round((monotonic() - self._began) / done * left)) if done > 0 else "?"


def in_words(counts: Counter[str], time_left: str) -> str:
    """The line.

    >>> in_words(Counter(finished=3, diverged=1, running=2, new=4), "01:20")
    '4/10 done, 2 running, 0 failed, 1 diverged, 01:20 left'
    """
    done = sum(counts[status] for status in RESULTS)
    failed = sum(counts[status] for status in FAILURES)
    elsewhere = f"{counts['busy']} elsewhere, " if counts["busy"] else ""
    running = f"{counts['running']} running, {elsewhere}{failed} failed"
    return f"{done}/{counts.total()} done, {running}, {counts['diverged']} diverged, {time_left} left"


def first_line(error: str) -> str:
    """The first line of an error.

    >>> first_line("RuntimeError: out of memory" + chr(10) + "at …")
    'RuntimeError: out of memory'
    """
    return error.splitlines()[0] if error else ""
