"""Compare finished runs: one HTML page, a table in the terminal, or a file for other programs.

    python scripts/report.py                                   # every run of the store
    python scripts/report.py norm=bn,ln data=bbc 'optim.lr<1e-2'
    python scripts/report.py results/sweeps/2026-11-29_19-10-34-506615 --text
    python scripts/report.py C62                               # the runs of a claim in experiments/

A filter is key=value[,value…], key!=value, or an order (<, <=, >, >=). A key is a group (norm, placement, data,
optim, precision), a dotted leaf of a run's config.yaml, or one of status, task, run. All filters must hold. A word
without a sign is a claim, or a sweep: its folder, or the folder's name. Quote < and > against the shell.
"""

import argparse
import re
import shlex
import sys
from pathlib import Path

from rich.console import Console

from normtrial.claims.trials.kept import is_claim, named_runs
from normtrial.errors import ConfigError
from normtrial.records import write_bytes
from normtrial.report.page.build import Compared, compare, page
from normtrial.report.selection import select
from normtrial.report.table.formats import FORMATS, text_table

STORE = Path("results/runs")  # what conf/config.yaml says


def main(arguments: list[str] | None = None) -> None:
    """Select, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filters", nargs="*", metavar="filter")
    parser.add_argument("--store", type=Path, default=STORE, help=f"where runs are kept; default {STORE}")
    parser.add_argument(
        "--reference", metavar="norm=ln,placement=pre", help="the arm that others are compared with"
    )
    parser.add_argument("--metric", help="what is compared; default val/accuracy or val/loss_nats")
    parser.add_argument("--text", action="store_true", help="print the table, write nothing")
    parser.add_argument("--format", default="html", choices=("html", *FORMATS))
    parser.add_argument("--out", type=Path, help="the file to write; default results/report.<format>")
    given = parser.parse_intermixed_args(arguments)
    compared = compare(select(given.filters, given.store, named_runs), given.reference, given.metric)
    if given.text:
        Console().print(text_table(compared.rows, compared.outcome))
        return
    out = given.out or Path("results") / f"report.{given.format}"
    made = content(compared, given.format, given.filters, sys.argv[1:] if arguments is None else arguments)
    try:
        write_bytes(out, made)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from error
    print(out)


def content(compared: Compared, kind: str, filters: list[str], arguments: list[str]) -> bytes:
    """What is written."""
    if kind != "html":
        return FORMATS[kind](compared.rows, compared.outcome)
    title = " ".join(map(in_title, filters)) or "All runs"
    return page(compared, title, shlex.join(["python", "scripts/report.py", *arguments])).encode()


def in_title(word: str) -> str:
    """A filter or a claim as it was typed; a sweep by its folder's name."""
    return word if re.search("[=<>]", word) or is_claim(word) else f"sweep {Path(word).name}"


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
