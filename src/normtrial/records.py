"""The run folder: what is in it, how it is read and written. Standard library only, so any script can use it.

results/runs/<run-id>/
    config.yaml      the resolved configuration
    meta.json        code hash, versions, host, threads, start, command
    metrics.jsonl    one flat row a logged step
    events.jsonl     non-finite values, plateaus, spikes and alarms
    checkpoint/      the last states, to resume from
    nonfinite/       replay bundles
    curves.png       the figure
    log.txt          what a job of a sweep would have said on the terminal
    summary.json     final numbers; written last, so its presence means "this run has ended"
"""

import fcntl
import functools
import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
STATUSES = ("finished", "diverged", "crashed", "interrupted")
UNSCIENTIFIC = (  # leaves of the configuration that change no number; the run id and the arms leave them out
    "log",
    "probe",
    "store",
    "cache",
    "device",
    "rerun",
    "wait",
    "sweep",
    "compile",
    "model.checkpoint_activations",
    "train.log_every",
    "train.checkpoint_every",
    "train.checkpoint_seconds",
    "train.checkpoint_keep",
    "data.streaming",
)
FOUND_BY_CONTENT = (  # where text comes from: the run id has the content instead; the arms of a sweep differ in it
    "data.path",
    "data.revision",
    "data.train",
    "data.val",
    "data.test",
)

ADDED = {"model.mixer": "attention", "model.dropout_on": "branches"}  # younger than records: no part of ids then


@functools.cache  # asked for every leaf of every run of a store
def is_scientific(leaf: str) -> bool:
    """Whether a dotted name of the configuration is part of what identifies a run.

    >>> is_scientific("train.steps"), is_scientific("train.log_every"), is_scientific("log.tags")
    (True, False, False)
    """
    return not any(leaf == name or leaf.startswith(f"{name}.") for name in UNSCIENTIFIC)


class RunFolder:
    """One run's folder; a reader of it, and a writer of its JSON files."""

    def __init__(self, path: Path | str):
        self.path = Path(path)

    @property
    def run_id(self) -> str:
        """The hash of the scientific configuration, which names the folder."""
        return self.path.name

    @property
    def metrics_path(self) -> Path:
        """Where the rows of logged steps are."""
        return self.path / "metrics.jsonl"

    @property
    def events_path(self) -> Path:
        """Where the events are."""
        return self.path / "events.jsonl"

    @property
    def log_path(self) -> Path:
        """Where a job of a sweep speaks."""
        return self.path / "log.txt"

    def config_text(self) -> str:
        """The resolved configuration as YAML."""
        return (self.path / "config.yaml").read_text(encoding="utf-8")

    def read_meta(self) -> dict[str, Any]:
        """Code hash, versions, host, threads, start and command."""
        return read_json(self.path / "meta.json") or {}

    def read_summary(self) -> dict[str, Any] | None:
        """The final numbers, or None while the run has not ended."""
        return read_json(self.path / "summary.json")

    def read_metrics(self) -> list[dict[str, Any]]:
        """All rows of logged steps; a half-written last line is left out."""
        return read_json_lines(self.metrics_path)

    def read_events(self) -> list[dict[str, Any]]:
        """All events; a half-written last line is left out."""
        return read_json_lines(self.events_path)

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write `name` so that a reader sees the old file or the new one, never a half."""
        write_text(self.path / name, to_json(content))

    def remove_leftovers(self) -> None:
        """Drop temporary files whose writer was killed; only the holder of the lock may."""
        for path in (*self.path.glob(".*.*"), *self.path.glob("nonfinite/*/.*.*")):  # `.lock` has one dot
            path.unlink()


class JsonLines:
    """Append-only strict JSON lines; a non-finite number becomes null and is named under `nonfinite`."""

    def __init__(self, path: Path, truncate_to: int | None = None):
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)  # after a full disk nothing waits to be written again
        if truncate_to is not None:
            assert self.offset() >= truncate_to, f"{path} is shorter than {truncate_to} bytes: nothing to cut"
            self._file.truncate(truncate_to)

    def append(self, row: dict[str, Any]) -> None:
        """Write one row and hand it to the operating system at once."""
        text = json.dumps(flag_nonfinite(row), allow_nan=False, ensure_ascii=False)
        left = memoryview(text.encode("utf-8") + b"\n")
        while left:
            left = left[self._file.write(left) :]

    def offset(self) -> int:
        """Bytes written so far, by now on the disk: what a checkpoint remembers, to cut the file back to."""
        os.fsync(self._file.fileno())
        return os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def flag_nonfinite(row: dict[str, Any]) -> dict[str, Any]:
    """Replace non-finite numbers by null, and say under `nonfinite` what each was.

    >>> flag_nonfinite({"step": 3, "train/loss_nats": float("nan")})
    {'step': 3, 'train/loss_nats': None, 'nonfinite': {'train/loss_nats': 'nan'}}
    """
    flags = {name: str(v) for name, v in row.items() if isinstance(v, float) and not math.isfinite(v)}
    if not flags:
        return strict(row)
    return strict({name: None if name in flags else v for name, v in row.items()}) | {"nonfinite": flags}


def strict(value: Any) -> Any:
    """The same value with every nested non-finite float as its name ("nan", "inf", "-inf"): strict JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return value


def to_json(content: dict[str, Any]) -> str:
    """Strict, indented JSON."""
    return json.dumps(strict(content), indent=2, allow_nan=False, ensure_ascii=False) + "\n"


def read_json(path: Path) -> dict[str, Any] | None:
    """The content of a JSON file, or None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """All complete rows of a JSON-lines file; an unfinished last line (a killed writer) is left out."""
    if not path.exists():
        return []
    complete, _, _ = path.read_bytes().rpartition(b"\n")
    return [json.loads(line) for line in complete.splitlines() if line]


def last_row(path: Path, near_the_end: int = 1 << 16) -> dict[str, Any] | None:
    """The last complete row, without reading the rest of the file; None where it has none, or a longer one."""
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - near_the_end, 0))
            return json.loads(file.read().rpartition(b"\n")[0].splitlines()[-1])
    except (FileNotFoundError, NotADirectoryError, IndexError, ValueError):
        return None


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file atomically: a temporary neighbour, then a rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    put_in_place(temporary, path)


def put_in_place(temporary: Path, path: Path) -> None:
    """Rename a file that is whole and on disk; the new name outlives a power cut too."""
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def list_runs(store: Path | str) -> list[RunFolder]:
    """Every run folder in a store, by run id."""
    return [RunFolder(path.parent) for path in sorted(Path(store).glob("*/config.yaml"))]


@contextmanager
def lock(path: Path, wait: bool = True, busy: Callable[[], None] = lambda: None) -> Iterator[bool]:
    """Hold an exclusive lock on a file; yields False where another process has it and `wait` is false.

    `busy` is called once before the waiting begins.
    The operating system drops the lock when its process dies, so a SIGKILL leaves nothing to clean up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                yield False
                return
            busy()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield True
