"""Tokens per second of whole training steps, ours over what a user would pick instead.

A step is forward pass, loss, backward pass, clipping, AdamW, with whatever a loop logs; ours with progress bar,
record and default probes. The others are a loop written by hand, the same model built with x-transformers in that
loop, transformers with its Trainer, and Lightning. All see the same batches in float32, made by our data layer
within the step. Peers come with the extra `bench`; those that are not installed are left out.

Both sides run in this process, which keeps freed memory in huge pages as our runs do; by themselves the others
would not. With `--apart` each side has a process of its own and what malloc is by itself: what a user gets.
"""

import argparse
import itertools
import statistics
import sys
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from normtrial.benchmark import machine
from normtrial.benchmark.command import add_overrides, clock_of
from normtrial.benchmark.pairs import Comparison, paired_seconds
from normtrial.benchmark.results import Results, table_of
from normtrial.benchmark.steps import bare, hugging_face, lightning_loop, memory, ours, xtransformers
from normtrial.benchmark.steps.shape import total_flops
from normtrial.benchmark.steps.sides import Apart, Here, Side
from normtrial.errors import not_one_of

PEERS: dict[str, ModuleType] = {
    "bare": bare,
    "x-transformers": xtransformers,
    "transformers": hugging_face,
    "lightning": lightning_loop,
}
TASKS = {"encoder": "data=bbc", "lm": "data=sotu"}
SIZES = ("tiny", "small", "base")
INSTALL = "python -m pip install -c constraints.txt -e '.[bench]'"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    add_overrides(parser)
    for option, names, about in (
        ("--tasks", TASKS, "which tasks"),
        ("--sizes", SIZES, "options of model="),
        ("--peers", PEERS, "what ours is compared with"),
    ):
        known = ",".join(names)
        parser.add_argument(option, type=_names, default=known, metavar="A,B", help=f"{about} (default {known})")
    parser.add_argument("--steps", type=int, default=10, help="of a turn (default 10)")
    parser.add_argument(
        "--apart", action="store_true", help="each side in a process of its own, with its own malloc"
    )
    parser.add_argument("--no-memory", action="store_true", help="leave out the runs that measure peak memory")


def run(given: argparse.Namespace) -> Results:
    """Every peer at every size on every task."""
    for what, allowed in (("tasks", TASKS), ("peers", PEERS)):
        for name in getattr(given, what):
            if name not in allowed:
                raise not_one_of(f"--{what}", name, allowed)
    _, kind = clock_of(given)
    peers = [PEERS[name] for name in given.peers if is_installed(name)]
    asked = {
        f"{task} {size}": [TASKS[task], f"model={size}", *given.overrides]
        for task, size in itertools.product(given.tasks, given.sizes)
    }
    # All of them first: what is refused is refused before anything is measured.
    cases = {case: ours.configured(*overrides) for case, overrides in asked.items()}
    found = [
        measured(f"{case}: {peer.NAME}", peer, overrides, given.pairs, given.steps, kind, given.apart)
        for case, overrides in asked.items()
        for peer in peers
    ]
    peaks = {
        case: memory.peaks(config, ["log=file", *asked[case]], given.threads)
        for case, config in cases.items()
        if not given.no_memory
    }
    return Results(
        title=" ".join(
            ["Training steps, norm=ln placement=pre", *given.overrides, "(apart)" * given.apart]
        ).strip(),
        unit=f"tokens/s ({kind}), ours over theirs",
        comparisons=[one.pop("comparison") for one in found],
        more={"steps": given.steps, "apart": given.apart, "sides": found, "peak_mib": peaks},
        tables=[sides_table(found), *([memory_table(peaks)] if peaks else [])],
    )


def _names(given: str) -> list[str]:
    return given.split(",")


def is_installed(name: str) -> bool:
    """Whether a peer can be measured; says what to type where it can't."""
    missing = [package for package in PEERS[name].PACKAGES if find_spec(package) is None]
    if missing:
        print(f"{name} is left out: {', '.join(missing)} is not installed ({INSTALL})", file=sys.stderr)
    return not missing


def measured(
    name: str, peer: ModuleType, overrides: list[str], num_pairs: int, num_steps: int, clock: str, apart: bool
) -> dict[str, Any]:
    """Ours and theirs by turns: the comparison; of each side parameters, tokens/s and share of the GEMM rate."""
    config = ours.configured(*overrides)
    data = ours.data_of(config)
    batches = [data.train_batch(step, config.seed) for step in range(num_steps)]
    tokens, flops = sum(batch.num_tokens for batch in batches), total_flops(ours.shape_of(config, data), batches)
    sides: list[Side] = []
    try:
        for module in (None, peer.__name__):
            sides.append((Apart if apart else Here)(module, overrides, num_steps, clock))
        seconds = paired_seconds(sides[0], sides[1], num_pairs, lambda: sum(side.spent for side in sides))
    finally:
        for side in sides:
            side.close()
    comparison = Comparison(name, [theirs / mine for mine, theirs in seconds])
    print(f"{name}: {comparison.median:.3f}", file=sys.stderr, flush=True)
    medians = [statistics.median(taken) for taken in zip(*seconds, strict=True)]
    figures = {
        whose: {
            "parameters": side.num_parameters,
            "tokens_per_s": tokens / taken,
            "gemm_share": flops / taken / 1e9 / machine.rates()["gemm_gflops"],
        }
        for whose, side, taken in zip(("ours", "theirs"), sides, medians, strict=True)
    }
    return {"name": name, "comparison": comparison, **figures, "unlike": getattr(peer, "UNLIKE", "")}


def sides_table(found: list[dict[str, Any]]) -> Any:
    """Absolute figures of both sides."""
    table = table_of("Theirs | ours in the same pairs", "", "parameters", "tokens/s", "share of GEMM rate")
    for one in found:
        theirs, mine = one["theirs"], one["ours"]
        table.add_row(
            one["name"],
            f"{theirs['parameters']:,} | {mine['parameters']:,}",
            f"{theirs['tokens_per_s']:,.0f} | {mine['tokens_per_s']:,.0f}",
            f"{theirs['gemm_share']:.0%} | {mine['gemm_share']:.0%}",
        )
    unlike = {one["name"].partition(": ")[2]: one["unlike"] for one in found if one["unlike"]}
    table.caption = "\n".join(f"{name}: {text}" for name, text in unlike.items())
    table.caption_justify = "left"
    return table


def memory_table(peaks: dict[str, Any]) -> Any:
    """Peak memory of whole processes, and above what they held before training."""
    table = table_of("Peak memory, MiB", "", "bare", "ours", "ratio", "bare above start", "ours")
    for case, found in peaks.items():
        theirs, mine = found["bare"], found["ours"]
        table.add_row(
            case,
            *(f"{side['peak']:.0f}" for side in (theirs, mine)),
            f"{mine['peak'] / theirs['peak']:.2f}",
            *(f"{side['peak'] - side['before']:.0f}" for side in (theirs, mine)),
        )
    return table
