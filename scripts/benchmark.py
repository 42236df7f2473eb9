"""What things cost on this machine, by pairs: prints a table, keeps JSON and a figure in results/benchmarks/.

    python scripts/benchmark.py overhead [norm=bn data=bbc …]

`overhead` is what watching a run costs: probes, forensics, W&B, checkpoints, progress bar, as shares of a step.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import torch

from normtrial.benchmark import overhead
from normtrial.benchmark.results import keep, show
from normtrial.errors import ConfigError


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["overhead"])
    parser.add_argument("overrides", nargs="*", help="of the configuration, for both sides of every pair")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--steps", type=int, default=10, help="of a turn; a multiple of train.log_every")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true", help="of this process, for a machine that is busy")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="instruments whose names begin so")
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    given = parser.parse_intermixed_args(arguments)
    torch.set_num_threads(given.threads)
    clock = time.process_time if given.cpu_time else time.perf_counter
    unit = f"{'CPU' if given.cpu_time else 'wall'} time of a step, with over without"
    names = [name for name in overhead.INSTRUMENTS if not given.only or name.startswith(tuple(given.only))]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found.append(
                overhead.measure(
                    name,
                    Path(folder),
                    num_pairs=given.pairs,
                    num_steps=given.steps,
                    clock=clock,
                    overrides=given.overrides,
                )
            )
            print(f"{name}: {found[-1].median:.3f}", file=sys.stderr, flush=True)
    show(found, unit)
    title = f"Overhead, model=tiny {' '.join(given.overrides)}".rstrip()
    command = f"python scripts/benchmark.py {' '.join(arguments or sys.argv[1:])}"
    keep(found, given.out, "overhead", {"unit": unit, "title": title, "command": command, "steps": given.steps})


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
