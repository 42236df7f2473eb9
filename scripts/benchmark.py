"""What things cost on this machine, by pairs: prints a table, keeps JSON and a figure in results/benchmarks/.

    python scripts/benchmark.py overhead [norm=bn data=bbc …]
    python scripts/benchmark.py norm [--only rms ln …]
    python scripts/benchmark.py step [--tasks lm --sizes tiny]
    python scripts/benchmark.py <command> --help

Every file says how fast this machine multiplies and copies, measured in the same run.
"""

import argparse
import sys
from pathlib import Path
from types import ModuleType

from normtrial.benchmark import norms, overhead, scale, startup, step, sweeps
from normtrial.benchmark.command import add_common_arguments, prepare
from normtrial.benchmark.results import keep, show
from normtrial.errors import ConfigError

# A module has `add_arguments(parser)` and `run(given) -> Results`; its docstring is the command's help.
COMMANDS: dict[str, ModuleType] = {
    "overhead": overhead,
    "norm": norms,
    "scale": scale,
    "startup": startup,
    "step": step,
    "sweep": sweeps,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, module in COMMANDS.items():
        about = (module.__doc__ or "").strip()
        command = commands.add_parser(
            name,
            help=about.splitlines()[0],
            description=about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_common_arguments(command)
        module.add_arguments(command)
    given, overrides = parser.parse_known_args(arguments)  # overrides may stand between options
    prepare(parser, given, overrides)
    results = COMMANDS[given.command].run(given)
    show(results)
    keep(
        results,
        Path(given.out),
        given.command,
        f"python scripts/benchmark.py {' '.join(arguments or sys.argv[1:])}",
    )


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
