"""The evaluations under shift, below a run's final table: one line each, val and test beside each other."""

from typing import Any

from rich import box
from rich.table import Table

from normtrial.training.metrics import Evaluated, evaluated

COLUMNS = {"loss_nats": "loss", "accuracy": "accuracy", "bits_per_char": "bits/char"}


def shift_table(metrics: dict[str, Any], shown: Any) -> Table | None:
    """None where nothing was shifted; `shown(metrics, name)` writes a value."""
    found = [part for name in metrics if (part := evaluated(name))]
    if not any(part.shift for part in found):
        return None
    columns = list(dict.fromkeys((part.split, part.metric) for part in found if part.metric in COLUMNS))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0)  # 80 columns hold the longest name
    table.add_column("shift", no_wrap=True)
    for split, metric in columns:
        table.add_column(f"{split} {COLUMNS[metric]}", justify="right", no_wrap=True)
    for shift, statistics in dict.fromkeys((part.shift, part.statistics) for part in found):
        names = [Evaluated(split, shift, statistics, metric).name for split, metric in columns]
        values = [shown(_without_error(metrics, name), name) if name in metrics else "" for name in names]
        table.add_row((shift or "none") + statistics, *values)
    return table


def _without_error(metrics: dict[str, Any], name: str) -> dict[str, Any]:
    """A line has room for one standard error a split: that of the accuracy."""
    return {name: metrics[name]} if name.endswith("/loss_nats") else metrics
