"""What a linear model or a compressor reaches on the documents of a set: `python scripts/baseline.py data=bbc`.

Takes several `data=…`, and the overrides of train.py for all of them (`data.limit=100`). A result is kept beside
the prepared text, and runs that come later show it beside their own numbers. What is fitted stands in
`normtrial.data.baseline`.
"""

import sys
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from normtrial.config import compose
from normtrial.data.baseline import measure
from normtrial.data.sources.source import SPLITS
from normtrial.errors import ConfigError

COLUMNS = {
    "val/accuracy": "accuracy",
    "val/macro_f1": "macro F1",
    "test/accuracy": "test acc.",
    "test/macro_f1": "test F1",
    "val/bits_per_char": "bits/char",
    "test/bits_per_char": "test b/c",
}


def table(results: dict[str, dict[str, Any]]) -> Table:
    """A row a set, and a column a metric that any of them has."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    made.add_column("data")
    for split in SPLITS:
        made.add_column(split, justify="right")
    shown = [name for name in COLUMNS if any(name in result["metrics"] for result in results.values())]
    for name in shown:
        made.add_column(COLUMNS[name], justify="right", no_wrap=True)
    for name, result in results.items():
        numbers = (result["metrics"].get(column) for column in shown)
        counts = (f"{result['documents'][split]:,}" for split in SPLITS)
        made.add_row(name, *counts, *("" if value is None else f"{value:.3f}" for value in numbers))
    return made


def main(arguments: list[str]) -> None:
    """Measure set after set, then print the table."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return
    chosen = [argument for argument in arguments if argument.startswith("data=")] or [""]
    shared = [argument for argument in arguments if not argument.startswith("data=")]
    configs = [compose(*filter(None, [data]), *shared) for data in chosen]  # every mistake before any work
    results = {}
    for config in configs:
        result = results[config.data.source] = measure(config.data, Path(config.cache))
        print(f"{config.data.source}: {result['model']}", file=sys.stderr, flush=True)
    Console().print(table(results))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
