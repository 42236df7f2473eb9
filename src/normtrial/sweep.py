"""What follows a sweep: the comparison of its arms, a figure, and every failure.

Jobs leave a `job.json` each in the sweep's folder, so this reads files only, whatever launcher ran them.
"""

import sys
from pathlib import Path
from typing import Any

from normtrial.records import RunFolder, read_json
from normtrial.report.comparison import print_comparison
from normtrial.report.figures.overlay import draw_overlay

FAILED = ("crashed", "missing", "interrupted")


def conclude(sweep: Path, store: Path, num_jobs: int) -> None:
    """Print the comparison of all jobs of a sweep, draw the overlay, list failures; exits 1 if there are any."""
    jobs = read_jobs(sweep, num_jobs)
    identifiers = list(dict.fromkeys(job["run_id"] for job in jobs if "run_id" in job))
    folders = [RunFolder(store / identifier) for identifier in identifiers]
    folders = [folder for folder in folders if is_whole(folder)]
    if folders:
        print_comparison(folders)
        print(f"figure: {draw_overlay(folders, sweep / 'overlay.png')}")
    failures = [job for job in jobs if job["status"] in FAILED]
    for job in failures:
        print(
            f"job {job['number']} {job['status']}: {job.get('command', '')}: {job.get('error', '')}",
            file=sys.stderr,
        )
    if failures:
        sys.exit(
            f"normtrial: {len(failures)} of {num_jobs} jobs failed; tracebacks are in {sweep}/*/traceback.txt."
        )


def is_whole(folder: RunFolder) -> bool:
    """Whether a run can be compared; says so where its files are damaged."""
    try:
        return folder.read_summary() is not None and bool(folder.config_text())
    except (OSError, ValueError) as error:
        print(f"{folder.path} is left out: {error}", file=sys.stderr)
        return False


def read_jobs(sweep: Path, num_jobs: int) -> list[dict[str, Any]]:
    """What each job wrote about itself; `missing` where its process died before it could."""
    return [
        read_json(sweep / str(number) / "job.json") or {"number": number, "status": "missing"}
        for number in range(num_jobs)
    ]
