"""A distinct run of a sweep, and where it stands: read from its run folder and from the note of its job."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from normtrial import records
from normtrial.config import Config
from normtrial.records import RunFolder, read_json

RESULTS = ("finished", "diverged")
FAILURES = ("crashed", "killed")


@dataclass(slots=True)
class Entry:
    """A run of a sweep; `status` is one of those of a run, or new, killed, or busy (another sweep's for now)."""

    overrides: list[str]
    name: str
    steps: int
    folder: RunFolder
    config: Config
    status: str = "new"
    number: int | None = None  # of its last job
    attempts: int = 0
    error: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether this sweep need not train it (any more)."""
        return self.status in (*RESULTS, *FAILURES)

    @property
    def typed(self) -> str:
        """What makes this run, as one types it."""
        return " ".join(self.overrides)


def standing(folder: RunFolder) -> str:
    """Where a run stands by its folder alone; `busy` where a process holds it."""
    summary = summary_of(folder)
    if summary is None:
        if not folder.path.is_dir():
            return "new"
        if is_held(folder):
            return "busy"
        return "interrupted" if folder.metrics_path.exists() else "new"
    if summary["status"] in RESULTS:
        # Not whole where a kill came between the summary and the rest: a job of it will mend that.
        whole = (folder.path / "curves.png").exists() and not (folder.path / "checkpoint").exists()
        return summary["status"] if whole else "interrupted"
    return "busy" if is_held(folder) else summary["status"]


def summary_of(folder: RunFolder) -> dict[str, Any] | None:
    """The summary, or None where there is none or it is damaged, which means training anew."""
    try:
        return folder.read_summary()
    except ValueError:
        return None


def is_held(folder: RunFolder) -> bool:
    """Whether a process is at work on the run."""
    if not (folder.path / ".lock").exists():
        return False
    with records.lock(folder.path / ".lock", wait=False) as free:
        return not free


@dataclass(slots=True)
class Notes:
    """What jobs leave in the sweep's folder; a last word is read once."""

    folder: Path
    _last: dict[int, dict[str, Any]] = field(default_factory=dict)

    def of(self, number: int) -> dict[str, Any]:
        """The note of a job; empty where it has not begun."""
        if number in self._last:
            return self._last[number]
        note = read_json(self.folder / str(number) / "job.json") or {}
        if note.get("status", "running") != "running":
            self._last[number] = note
        return note

    def next_number(self) -> int:
        """The first that no earlier job in this folder has."""
        used = [int(path.name) for path in self.folder.glob("*") if path.name.isdecimal()]
        return max(used, default=-1) + 1
