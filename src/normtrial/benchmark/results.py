"""Figures of a benchmark: printed, and kept as JSON and as a drawing."""

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.table import Table

from normtrial.benchmark.pairs import Comparison
from normtrial.report.style import COLOURS, GREY, new_figure, save, tidy


def machine() -> dict[str, Any]:
    """On what the figures were taken."""
    return {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],  # processes that wanted to run at the end, over a minute; ours is one
    }


def show(found: list[Comparison], unit: str) -> None:
    """As a table: median, quartiles and number of the ratios."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("", unit, "quartiles", "pairs"):
        table.add_column(header, justify="right" if header else "left")
    for one in found:
        low, high = one.quartiles
        table.add_row(one.name, f"{one.median:.3f}", f"{low:.3f} to {high:.3f}", str(len(one.ratios)))
    Console().print(table)


def keep(found: list[Comparison], folder: Path, name: str, about: dict[str, Any]) -> None:
    """`name.json` with every ratio, and `name.png`."""
    content = {
        "about": about,
        "machine": machine(),
        "comparisons": {
            one.name: {"median": one.median, "quartiles": one.quartiles, "ratios": one.ratios} for one in found
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    figure = new_figure(7.5, 1 + 0.32 * len(found))
    axes = figure.subplots()
    for height, one in enumerate(reversed(found)):
        axes.plot(one.quartiles, (height, height), color=COLOURS[2], linewidth=3)
        axes.plot(one.ratios, [height] * len(one.ratios), "|", color=GREY, markersize=7)
        axes.plot(one.median, height, "o", color=COLOURS[0], markersize=5)
    axes.axvline(1, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(found)), [one.name for one in reversed(found)])
    axes.set_xlabel(about["unit"], fontsize=9)
    tidy(axes, about["title"], "")
    save(figure, folder / f"{name}.png")
