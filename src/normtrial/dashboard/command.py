"""A W&B workspace for a project, and local runs mirrored into it.

    python scripts/dashboard.py                          # builds and saves the workspace, prints its link
    python scripts/dashboard.py --dry-run dashboard.json # writes its specification, asks nobody
    python scripts/dashboard.py sync                     # mirrors runs that trained with log=file, offline
    python scripts/dashboard.py sync --mode online norm=bn,ln 'optim.lr<1e-2'

`sync` has the filters of scripts/report.py. Every run is mirrored once; the same command goes on after a kill.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from normtrial.dashboard.sync import in_words, sync
from normtrial.errors import ConfigError, not_one_of, require
from normtrial.help import CONF
from normtrial.records import write_text
from normtrial.report.selection import Named, select
from normtrial.training.metrics import METRICS, evaluated, find
from normtrial.training.sinks.record import WANDB_MODES, WandbLogConfig

STORE = Path("results/runs")  # what conf/config.yaml says


def main(arguments: Sequence[str], named_runs: Named | None = None) -> int:
    """Build, or with `sync` in front mirror; the exit code.

    `named_runs` finds the runs that a word without a sign stands for.
    """
    if arguments[:1] == ["sync"]:
        return mirror(parser_of_sync().parse_intermixed_args(list(arguments[1:])), named_runs)
    return build(parser_of_build().parse_args(list(arguments)))


def parser_of_build() -> argparse.ArgumentParser:
    """Options of the workspace."""
    parser = parser_with_project(description=__doc__)
    parser.add_argument("--entity", help="user or team of W&B; default the one logged in")
    parser.add_argument("--name", default="normtrial", help="of the workspace; default normtrial")
    parser.add_argument("--metric", default="val/accuracy", help="what runs are compared by; default val/accuracy")
    parser.add_argument("--dry-run", type=Path, metavar="FILE", help="write the specification there, save nothing")
    return parser


def parser_of_sync() -> argparse.ArgumentParser:
    """Options of the mirroring."""
    parser = parser_with_project(prog="dashboard.py sync", description=__doc__)
    parser.add_argument("filters", nargs="*", metavar="filter")
    parser.add_argument("--store", type=Path, default=STORE, help=f"where runs are kept; default {STORE}")
    parser.add_argument(
        "--mode", default=shipped().mode, help="offline or online; default that of conf/log/wandb.yaml"
    )
    return parser


def parser_with_project(**described: Any) -> argparse.ArgumentParser:
    """What both commands are told."""
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, **described)
    parser.add_argument("--project", default=shipped().project, help="default that of conf/log/wandb.yaml")
    return parser


def shipped() -> Any:
    """The values of conf/log/wandb.yaml."""
    return OmegaConf.load(CONF / "log" / "wandb.yaml")


def mirror(given: argparse.Namespace, named_runs: Named | None) -> int:
    """Mirror the selected runs, and say what became of them."""
    log = WandbLogConfig(mode=given.mode, project=given.project, group=None, tags=[])
    if log.mode not in WANDB_MODES:
        raise not_one_of("--mode", log.mode, WANDB_MODES)
    log.check()
    counts = sync(select(given.filters, given.store, named_runs), log)
    print(in_words(counts))
    return 1 if counts["failed"] or counts["clash"] else 0


def build(given: argparse.Namespace) -> int:
    """Save the workspace, or write its specification."""
    check_metric(given.metric)
    try:
        from normtrial.dashboard.workspace import specification, workspace
    except ModuleNotFoundError as error:
        raise ConfigError(f"{error}; python -m pip install -c constraints.txt -e '.[dashboard]'") from error
    made = workspace(given.entity or "", given.project, given.name, given.metric)
    if given.dry_run:
        write_text(given.dry_run, specification(made) + "\n")
        print(given.dry_run)
    else:
        print(link_of(made))
    return 0


def check_metric(name: str) -> None:
    """Raise `ConfigError` unless a run's summary can have it."""
    if evaluated(name) is None or find(name) is None:
        patterns = [metric.pattern for metric in METRICS if metric.function is not None]
        names = [pattern.replace("<split>", split) for split in ("val", "test") for pattern in patterns]
        raise not_one_of("--metric", name, names)


def link_of(made: Any) -> str:
    """Save a workspace, by default among those of whoever is logged in, and tell where."""
    import wandb
    from wandb.errors import Error

    try:
        made.entity = made.entity or wandb.Api().default_entity or ""
        require(bool(made.entity), "W&B knows no default entity of yours; name one by --entity.")
        return made.save().url
    except Error as error:
        raise ConfigError(f"W&B: {error} Nothing is saved; --dry-run FILE writes what would be.") from error
