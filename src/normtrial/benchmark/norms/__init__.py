"""Every norm as shipped: against the least time in which its numbers could be moved, and against what torch has.

One call in training: forward without gradients, and forward plus backward with those of input, parameters and
condition; float32. Norms that heed the mask are timed with every position valid and padded, lengths spread evenly
from a quarter of L to L. `floor` says what must be moved, `peers` what torch has, `rows` times.
"""

import argparse
import sys

import torch

from normtrial.benchmark.command import clock_of
from normtrial.benchmark.norms.drawing import draw, tables
from normtrial.benchmark.norms.rows import Row, Shape, cases_of, measure
from normtrial.benchmark.results import Results
from normtrial.errors import not_one_of, require
from normtrial.norms.catalogue import NORMS
from normtrial.training.process.memory import keep_freed_memory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    parser.add_argument("--shape", default="16,128,256", metavar="B,L,D", help="of the input (default 16,128,256)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these norms (default: all)")


def run(given: argparse.Namespace) -> Results:
    """All norms, or those that were named."""
    shape = shape_from(given.shape)
    names = given.only or list(NORMS)
    for name in names:
        if name not in NORMS:
            raise not_one_of("--only", name, NORMS)
    clock, kind = clock_of(given)
    torch.manual_seed(0)
    keep_freed_memory()  # as in every run: otherwise each call has its memory mapped anew
    rows: list[Row] = []
    for name in names:
        for padded in cases_of(name):
            rows += measure(name, shape, padded, given.pairs, clock)
            for row in rows[-2:]:
                print(row, file=sys.stderr, flush=True)
    title = f"Norms at ({', '.join(map(str, shape))})"
    return Results(
        title,
        f"{kind} of one call over that of the other",
        [],
        {"shape": shape, "norms": [row.as_dict() for row in rows]},
        tables(title, rows),
        lambda figure: draw(figure, title, rows),
    )


def shape_from(text: str) -> Shape:
    """B, L and D as typed.

    >>> shape_from("16,128,256")
    (16, 128, 256)
    """
    try:
        sizes = [int(size) for size in text.split(",")]
    except ValueError:
        sizes = []
    require(len(sizes) == 3 and min(sizes) > 1, f"--shape={text} must be B,L,D, three numbers above 1.")
    return sizes[0], sizes[1], sizes[2]
