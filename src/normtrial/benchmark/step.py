"""Tokens per second of whole training steps, ours over what a user would pick instead.

A step is forward pass, loss, backward pass, clipping, AdamW, with whatever a loop logs; ours with progress bar,
record and default probes. The others are a loop written by hand, the same model built with x-transformers in that
loop, transformers with its Trainer, and Lightning. All see the same batches in float32, made by our data layer
within the step. Peers come with the extra `bench`; those that are not installed are left out.

Both sides run in this process, which keeps freed memory as our runs do; by themselves the others would not.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from normtrial.benchmark import machine
from normtrial.benchmark.command import add_overrides, clock_of
from normtrial.benchmark.pairs import Clock, Comparison, paired_seconds
from normtrial.benchmark.results import Results, table_of
from normtrial.benchmark.steps import bare, hugging_face, lightning_loop, memory, ours, xtransformers
from normtrial.benchmark.steps.held import Held, share_one_arena
from normtrial.benchmark.steps.shape import total_flops
from normtrial.config import Config
from normtrial.errors import not_one_of
from normtrial.training.process.memory import keep_freed_memory

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
    parser.add_argument("--no-memory", action="store_true", help="leave out the runs that measure peak memory")


def run(given: argparse.Namespace) -> Results:
    """Every peer at every size on every task."""
    for what, allowed in (("tasks", TASKS), ("peers", PEERS)):
        for name in getattr(given, what):
            if name not in allowed:
                raise not_one_of(f"--{what}", name, allowed)
    clock, kind = clock_of(given)
    peers = {name: PEERS[name] for name in given.peers if is_installed(name)}
    asked = {
        f"{task} {size}": [TASKS[task], f"model={size}", *given.overrides]
        for task, size in itertools.product(given.tasks, given.sizes)
    }
    # All of them first: what is refused is refused before anything is measured.
    cases = {case: ours.configured(*overrides) for case, overrides in asked.items()}
    keep_freed_memory()
    share_one_arena()
    found = [
        measured(f"{case}: {PEERS[name].NAME}", config, peer, given.pairs, given.steps, clock)
        for case, config in cases.items()
        for name, peer in peers.items()
    ]
    peaks = {
        case: memory.peaks(config, ["log=file", *asked[case]], given.threads)
        for case, config in cases.items()
        if not given.no_memory
    }
    return Results(
        title=f"Training steps, {' '.join(['norm=ln placement=pre', *given.overrides])}",
        unit=f"tokens/s ({kind}), ours over theirs",
        comparisons=[one.pop("comparison") for one in found],
        more={"steps": given.steps, "sides": found, "peak_mib": peaks},
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
    name: str, config: Config, peer: ModuleType, num_pairs: int, num_steps: int, clock: Clock
) -> dict[str, Any]:
    """Ours and theirs by turns: the comparison; of each side parameters, tokens/s and share of the GEMM rate."""
    data = ours.data_of(config)
    shape = ours.shape_of(config, data)
    batches = [data.train_batch(step, config.seed) for step in range(num_steps)]

    def held(train: Callable[..., None]) -> Held:
        return Held(train, lambda step: data.train_batch(step, config.seed), num_steps)

    with tempfile.TemporaryDirectory() as folder:
        loop = ours.loop_of(config, Path(folder) / "ours")
        model = peer.build(shape)
        mine = held(ours.trainer(loop))
        theirs = held(lambda given: peer.train(shape, model, given, Path(folder) / "theirs"))
        try:
            seconds = paired_seconds(mine, theirs, num_pairs, clock)
        finally:
            mine.close()
            theirs.close()
            loop.s.sinks.finish({"status": "finished", "steps": 0})
    comparison = Comparison(name, [one / other for other, one in seconds])
    print(f"{name}: {comparison.median:.3f}", file=sys.stderr, flush=True)
    tokens = sum(batch.num_tokens for batch in batches)
    flops = total_flops(shape, batches)
    sides = {
        side: {
            "parameters": sum(p.numel() for p in trained.parameters()),
            "tokens_per_s": tokens / taken,
            "gemm_share": flops / taken / 1e9 / machine.rates()["gemm_gflops"],
        }
        for side, trained, taken in (
            ("ours", loop.s.model, statistics.median(pair[0] for pair in seconds)),
            ("theirs", model, statistics.median(pair[1] for pair in seconds)),
        )
    }
    return {"name": name, "comparison": comparison, **sides, "unlike": getattr(peer, "UNLIKE", "")}


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
