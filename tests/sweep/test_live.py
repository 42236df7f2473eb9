"""The sweep's line: on a terminal one that changes, elsewhere one for each run that has ended."""

import io
import time
from pathlib import Path
from typing import Any, cast

from normtrial.records import RunFolder, to_json, write_text
from normtrial.sweep.entry import Entry, Notes
from normtrial.sweep.live import Live


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def entry(folder: Path, name: str, status: str, number: int | None = None, row: str = "") -> Entry:
    """A run of ten steps, and what its job has left."""
    run = RunFolder(folder / "store" / name)
    run.path.mkdir(parents=True)
    run.metrics_path.write_text(row, encoding="utf-8")
    return Entry([], name, 10, run, cast(Any, None), status, number)


def leave(folder: Path, number: int, **note: str) -> None:
    write_text(folder / str(number) / "job.json", to_json(note))


def sweep(folder: Path) -> list[Entry]:
    leave(folder, 0, status="running")
    leave(folder, 1, status="running")
    return [
        entry(folder, "done", "finished"),
        entry(folder, "going", "new", 0, '{"step": 5}\n'),
        entry(folder, "failing", "new", 1, '{"step": 2}\n{"st'),
        entry(folder, "elsewhere", "busy"),
    ]


def test_a_line_a_run_that_has_ended(tmp_path: Path) -> None:
    stream, entries = io.StringIO(), sweep(tmp_path)
    with Live(entries, Notes(tmp_path), tmp_path / "stop", stream):
        leave(tmp_path, 1, status="crashed", error="OSError: no space\nleft")
    (line,) = stream.getvalue().splitlines()
    assert line.startswith("failing crashed (run failing): OSError: no space; ")
    assert "1/4 done, 1 running, 1 elsewhere, 1 failed, 0 diverged, " in line


def test_one_line_on_a_terminal_and_failures_above_it(tmp_path: Path) -> None:
    stream, entries = Terminal(), sweep(tmp_path)
    with Live(entries, Notes(tmp_path), tmp_path / "stop", stream):
        deadline = time.monotonic() + 20
        while "2 running" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
        leave(tmp_path, 0, status="diverged")
        leave(tmp_path, 1, status="crashed", error="OSError: no space\nleft")
        (tmp_path / "stop").touch()
    shown = stream.getvalue()
    assert "1/4 done, 2 running, 1 elsewhere, 0 failed, 0 diverged, " in shown
    assert "failing crashed: OSError: no space" in shown
    last = shown.rstrip().split("\r")[-1]
    assert last.startswith("2/4 done, 0 running, 1 elsewhere, 1 failed, 1 diverged, ")
    assert "stopping, running jobs keep their state" in last
    assert shown.count("\n") == 2, "the failure, and the end"
