"""The table of norms by property, measured: `python scripts/properties.py [--markdown] [ln rms …]`.

`--depth` measures placements at initialization instead, as `scripts/depth.py` does.

✓ has the property, – has not; ≠ stands where the class declares otherwise, and then the exit code is 1.
"""

import argparse
import runpy
import sys
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from normtrial.config.shipped import shipped
from normtrial.errors import ConfigError, not_one_of
from normtrial.norms.catalogue import NORMS
from normtrial.norms.properties import COLUMNS, Row, row

NARROW = ("exa.", "pos.", "pad.", "causal", "eval", "tr=ev", "scale", "shift", "param.", "state")


def cells(name: str, found: Row) -> list[str]:
    """A row as it is printed."""
    marks = {
        key: ("✓" if value else "–") + (" ≠" if key in found.disagreeing else "")
        for key, value in found.measured.items()
    }
    marks |= {"parameters": found.parameters, "state": found.state or "–"}
    return [name, *(marks[key] for key in COLUMNS)]


def markdown(rows: list[list[str]]) -> str:
    """The table for README."""
    lines = [["norm", *COLUMNS.values()], ["---"] * (len(COLUMNS) + 1)]
    lines += [[f"`{name}`", *rest] for name, *rest in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 where a norm is not what it declares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--markdown", action="store_true", help="as a table for README")
    parser.add_argument("norms", nargs="*", metavar="norm", help="these only")
    parser.add_argument("--depth", action="store_true", help="placements at initialization, by depth")
    given = parser.parse_args(arguments)
    if given.depth:
        sys.argv = sys.argv[:1]
        runpy.run_path(str(Path(__file__).with_name("depth.py")), run_name="__main__")
        return 0
    for name in given.norms:
        if name not in NORMS:
            raise not_one_of("norm", name, NORMS)
    found = {name: row(shipped(name)) for name in given.norms or NORMS}
    rows = [cells(name, one) for name, one in found.items()]
    if given.markdown:
        print(markdown(rows))
    else:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("norm", no_wrap=True)
        for header in NARROW:
            table.add_column(header, no_wrap=True)
        for *line, state in rows:
            table.add_row(*line, "–" if state == "–" else "kept")  # the names of its buffers need a wide page
        Console().print(table)
        print("blind to other examples, to other positions, to padding; causal in training, in evaluation;")
        print("training = evaluation; scale and shift invariant; parameters in terms of the width D; state kept.")
    return 1 if any(one.disagreeing for one in found.values()) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
