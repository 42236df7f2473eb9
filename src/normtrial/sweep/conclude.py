"""What follows a sweep: the comparison of its arms, a figure, and every failure."""

import sys
from collections.abc import Sequence
from pathlib import Path

from normtrial.records import RunFolder
from normtrial.report.comparison import print_comparison
from normtrial.report.overlay import draw_overlay
from normtrial.sweep.entry import FAILURES, Entry
from normtrial.sweep.live import first_line


def conclude(entries: Sequence[Entry], sweep: Path) -> None:
    """Print the comparison of all runs of a sweep, draw the overlay, list failures; exits 1 if there are any."""
    folders = [entry.folder for entry in entries if is_whole(entry.folder)]
    if folders:
        print_comparison(folders)
        print(f"figure: {draw_overlay(folders, sweep / 'overlay.png')}")
    failures = [entry for entry in entries if entry.status in FAILURES]
    for entry in failures:
        line = f"{entry.name} {entry.status}: {entry.typed}: {first_line(entry.error)}"
        print(f"{line} (job {entry.number}, {entry.folder.log_path})", file=sys.stderr)
    left = sum(not entry.has_ended for entry in entries)
    if failures:
        sys.exit(
            f"normtrial: {len(failures)} of {len(entries)} runs failed"
            + (f", and the sweep was stopped with {left} left" if left else "")
            + f"; tracebacks are in {sweep}/*/traceback.txt. The same command tries them again."
        )


def is_whole(folder: RunFolder) -> bool:
    """Whether a run can be compared; says so where its files are damaged."""
    try:
        return folder.read_summary() is not None and bool(folder.config_text())
    except (OSError, ValueError) as error:
        print(f"{folder.path} is left out: {error}", file=sys.stderr)
        return False
