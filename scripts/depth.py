"""Gradients and variance of fresh models by depth: `python scripts/depth.py` prints a table and draws a figure.

About half a minute. `--json FILE` writes the numbers, as tests/goldens/depth.json keeps them.
"""

import argparse
import json
from pathlib import Path

from normtrial.config import compose
from normtrial.probes.depth import by_depth
from normtrial.report.figures.depth import Table, draw_depth

PLACEMENTS = ("pre", "post", "sandwich", "deepnorm", "lns", "none")
DEPTHS = (2, 4, 6, 8, 12, 16, 24, 32, 48)
MODEL = ("model=small", "data=sotu")  # width 128; the text is not read
FIGURE = Path("results/figures/depth_at_init.svg")


def measure(placement: str, depths: tuple[int, ...] = DEPTHS) -> dict[str, dict[str, float]]:
    """Depth -> measure -> value, in six digits."""
    norm = "none" if placement == "none" else "ln"
    config = compose(*MODEL, f"norm={norm}", f"placement={placement}")
    rows = by_depth(depths, config.model, config.norm, config.placement)
    return {depth: {name: float(f"{v:.6g}") for name, v in row.items()} for depth, row in rows.items()}


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--figure", type=Path, default=FIGURE, help=f"where to draw; default {FIGURE}")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    table: Table = {}
    for placement in PLACEMENTS:
        table[placement] = measure(placement)
        print(f"\n{placement:<9} gradient first       last   variance first       last")
        for depth, row in table[placement].items():
            first, last, start, end = row.values()
            print(f"{depth:>6} {first:>17.4g} {last:>10.4g} {start:>16.4g} {end:>10.4g}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    print(f"\n{draw_depth(table, arguments.figure)}")


if __name__ == "__main__":
    main()
