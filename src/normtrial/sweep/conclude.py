"""What follows a sweep: the comparison of its arms, a figure, and every failure."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from normtrial.config import as_dict
from normtrial.records import RunFolder
from normtrial.report.arms import Run
from normtrial.report.comparison import print_comparison
from normtrial.report.figures.overlay import draw_overlay
from normtrial.report.selection import readable
from normtrial.sweep.entry import FAILURES, Entry
from normtrial.sweep.live import first_line
from normtrial.training.sinks.record import leaves


def conclude(entries: Sequence[Entry], sweep: Path) -> None:
    """Print the comparison of all runs of a sweep, draw the overlay, list failures; exits 1 if there are any."""
    runs = list(finished(entries))
    if runs:
        print_comparison(runs)
        print(f"figure: {draw_overlay(runs, sweep / 'overlay.png')}")
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


def finished(entries: Sequence[Entry]) -> Iterator[Run]:
    """The runs as reports want them, without reading their YAML again; those that can be compared."""
    configs = {entry.folder.run_id: entry.config for entry in entries}

    def read(folder: RunFolder) -> Run | None:
        summary = folder.read_summary()
        return None if summary is None else Run(folder, dict(leaves(as_dict(configs[folder.run_id]))), summary)

    return readable((entry.folder for entry in entries), read)
