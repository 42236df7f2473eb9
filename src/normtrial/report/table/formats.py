"""The table of arms in the terminal, as Markdown, CSV and Parquet."""

import io
import math
from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from normtrial.report.comparison import caption
from normtrial.report.outcome import Outcome
from normtrial.report.table.rows import Row, in_words


def text_table(rows: list[Row], outcome: Outcome) -> Table:
    """For the terminal."""
    table = Table(
        title=Text(title(outcome), "bold"),
        caption=caption([row.arm for row in rows], outcome),
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("arm", min_width=8, overflow="fold")
    cells = [in_words(row) for row in rows]
    for name in list(cells[0])[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for line in cells:
        table.add_row(*map(Text, line.values()))
    return table


def title(outcome: Outcome) -> str:
    """What the numbers are."""
    better = "more" if outcome.direction == "max" else "less"
    return f"{outcome.metric} ({better} is better); differences from the reference, paired by seed"


def markdown(rows: list[Row], outcome: Outcome) -> bytes:
    """A table that a README or an issue can take."""
    cells = [in_words(row) for row in rows]
    lines = [list(cells[0]), ["---", *["---:"] * (len(cells[0]) - 1)], *([*line.values()] for line in cells)]
    table = "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)
    said = caption([row.arm for row in rows], outcome)
    notes = f"\n\n{said.plain}" if said else ""
    return f"{title(outcome)}\n\n{table}{notes}\n".encode()


def plain(row: Row, outcome: Outcome) -> dict[str, Any]:
    """Every number of an arm by name, for other programs; None where there is none."""
    arm = row.arm
    statuses = {status: arm.count(status) for status in ("diverged", "crashed", "interrupted")}
    numbers = {
        **spread("mean", row.mean.estimate, row.mean.low, row.mean.high),
        **spread("difference", row.difference.estimate, row.difference.low, row.difference.high),
        **spread("diverged_share", row.diverged.estimate, row.diverged.low, row.diverged.high),
        "best": row.best,
        "parameters": row.parameters,
        "seconds": row.seconds,
        "tokens_per_s": row.tokens_per_s,
    }
    finite = {
        name: None if value is None or not math.isfinite(value) else float(value)
        for name, value in numbers.items()
    }
    settings = {name: str(value) for name, value in arm.settings.items()}
    named = {"arm": arm.name, "reference": row.reference.name, "metric": outcome.metric}
    counts = {"runs": len(arm.runs), "n": row.num, "pairs": 0 if row.is_reference else row.num_pairs}
    return {**named, **counts, **statuses, **finite, **settings}


def spread(name: str, estimate: float, low: float, high: float) -> dict[str, float]:
    """An estimate and its limits as three columns."""
    return {name: estimate, f"{name}_low": low, f"{name}_high": high}


def columns(rows: list[Row], outcome: Outcome) -> Any:
    """As an Arrow table."""
    import pyarrow

    lines = [plain(row, outcome) for row in rows]
    types = {str: pyarrow.string(), int: pyarrow.int64()}
    return pyarrow.table(
        {
            name: pyarrow.array([line[name] for line in lines], types.get(type(value), pyarrow.float64()))
            for name, value in lines[0].items()
        }
    )


def csv(rows: list[Row], outcome: Outcome) -> bytes:
    """Comma-separated values with a header."""
    from pyarrow.csv import write_csv

    stream = io.BytesIO()
    write_csv(columns(rows, outcome), stream)
    return stream.getvalue()


def parquet(rows: list[Row], outcome: Outcome) -> bytes:
    """A Parquet file."""
    from pyarrow.parquet import write_table

    stream = io.BytesIO()
    write_table(columns(rows, outcome), stream)
    return stream.getvalue()


FORMATS: dict[str, Callable[[list[Row], Outcome], bytes]] = {"csv": csv, "parquet": parquet, "md": markdown}
