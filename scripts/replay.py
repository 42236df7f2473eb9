"""Take a bad step again from its bundle: `python scripts/replay.py results/runs/<run>/nonfinite/step-00000007`.

Prints the chain of sites with the magnitudes of their outputs and gradients, in the run's precision and in
float64, and where the first value that is not finite came from. Several bundles may be given. Exit code 1 where a
step does not go wrong here.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import torch
from rich import box
from rich.console import Console
from rich.table import Table

from normtrial.assemble import pick_device, replica_of, transformer
from normtrial.config import stored
from normtrial.errors import ConfigError
from normtrial.training.nonfinite.replay import Taken, read_bundle, take
from normtrial.training.sinks.progress import number


def replay(folder: Path, device: str, console: Console) -> bool:
    """Take the step again in both precisions and print what happens; whether it goes wrong here."""
    start, about = read_bundle(folder)
    config = stored(about["config"])
    model = transformer(config, about["vocab_size"], about["num_outputs"])
    replica = replica_of(config, model.to(device, config.precision.format.weights), device)
    torch.set_num_threads(1)
    own = take(replica, start.to(device))
    double = take(replica, start.to(device).in_dtype(torch.float64))
    title = f"{about['kind']} at step {start.step}: norm={config.norm.name} placement={config.placement.name}"
    console.print(table(own, double, title, config.precision.compute))
    console.print(f"first here: {in_words(own)}", f"in float64: {in_words(double)}", sep="\n", highlight=False)
    if own.dead:
        console.print(f"dead: {own.dead['num_dead_tokens']} tokens come out of {own.dead['site']} as zeros")
    return not own.is_finite


def table(own: Taken, double: Taken, title: str, precision: str) -> Table:
    """One row a site and direction, in the order in which they ran."""
    found = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("pass", "site", "dtype"):
        found.add_column(name, no_wrap=True)
    for name in (f"max |x| {precision}", "variance", "nan", "inf", "max |x| float64"):
        found.add_column(name, justify="right", no_wrap=True)
    reference = {(link["pass"], link["site"]): link["max_abs"] for link in double.chain}
    for link in own.chain:
        bad = link["num_nan"] + link["num_inf"] > 0
        cells = [link["pass"], link["site"], link["dtype"], number(link["max_abs"]), number(link["variance"])]
        cells += [str(link["num_nan"]), str(link["num_inf"]), number(reference.get((link["pass"], link["site"])))]
        found.add_row(*cells, style="bold red" if bad else "")
    return found


def in_words(taken: Taken) -> str:
    """Site, operation and input of the first value that is not finite."""
    at: dict[str, Any] = taken.origin
    if at["site"] is None:
        return f"nothing; loss {number(float(taken.loss))}"
    given = at["input"] or {}
    parts = [f"{name} {number(given[name])}" for name in ("min", "max", "mean", "variance") if name in given]
    eps = "" if at["eps"] is None else f"; eps {at['eps']:g}"
    node = f" of {at['node']}" if at["node"] else ""
    return f"{at['site']}, {at['pass']} pass, {at['op']}{node} in {at['dtype']}; input {', '.join(parts)}{eps}"


def main(arguments: list[str] | None = None) -> int:
    """Replay every bundle given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+", type=Path, help="folders under a run's nonfinite/")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    given = parser.parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120)
    try:
        wrong = [replay(folder, pick_device(given.device), console) for folder in given.bundles]
        return 0 if all(wrong) else 1
    except (ConfigError, FileNotFoundError) as error:
        raise SystemExit(f"replay: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
