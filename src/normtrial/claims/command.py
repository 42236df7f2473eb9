"""The command line of claims: `python scripts/claim.py …`. Only `plan`, `run` and `collect` import torch.

list | show ID                 what is claimed
plan | run [IDS | all]         runs and hours; train or measure what is missing
judge [IDS | all]              verdicts from what is kept; `judge all` writes results/claims/ and the report
report                         results/claims.md, results/claims.html, results/LOG.md
new ID | register IDS | verify a skeleton; date and hash; whether predictions stand as registered
validity                       what the judge's intervals hold, by simulation
"""

import argparse
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.text import Text

from normtrial.claims.claim.load import FOLDER, chosen, load_claims
from normtrial.claims.claim.model import Claim, MeasuredClaim
from normtrial.claims.claim.registry import complaints, register
from normtrial.claims.claim.skeleton import write_skeleton
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging import evidence, judge, measured
from normtrial.claims.judging.judged import Judgement
from normtrial.errors import require

RESULTS = Path("results")
COMMANDS = ("list", "show", "plan", "run", "collect", "judge", "report", "new", "register", "verify", "validity")


def main(arguments: list[str] | None = None) -> int:
    """Do what is asked; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("ids", nargs="*", help="claims, or all")
    parser.add_argument("--kind", help="exact, training or cost only")
    parser.add_argument("--seeds", type=int, help="judging seeds, instead of those registered")
    parser.add_argument("--set", action="append", default=[], metavar="OVERRIDE", help="of every run, as store=…")
    parser.add_argument("--claims", type=Path, default=FOLDER, help="folder of claims")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_intermixed_args(arguments)
    if given.command == "new":
        require(len(given.ids) == 1, "claim.py new takes one id.")
        print(write_skeleton(given.claims, given.ids[0], given.kind or "training"))
        return 0
    if given.command == "validity":
        from normtrial.claims.report.validity import write_validity

        print(write_validity(given.results / "claims"))
        return 0
    claims = load_claims(given.claims)
    selected = chosen(claims, given.ids, given.kind)
    return globals()[f"_{given.command}"](claims, selected, given)


def _list(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    for claim in selected:
        print(f"{claim.id:<6} {claim.kind:<9} {claim.statement}")
    return 0


def _show(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    for claim in selected:
        print((given.claims / f"{claim.id}.yaml").read_text(encoding="utf-8"))
    return 0


def _plan(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    from normtrial.claims.trials.collect import Resolver, collect
    from normtrial.claims.trials.run import plan

    asked, every = training(selected), training(claims.values())
    plan(asked, collect(asked, every, given.results / "claims", Resolver(given.set), given.seeds), given.seeds)
    return 0


def _run(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    if of_formulas := [claim for claim in selected if isinstance(claim, MeasuredClaim)]:
        from normtrial.claims.measure import measure

        measure(of_formulas, given.results / "claims")
    if trained := training(selected):
        from normtrial.claims.trials.collect import Resolver
        from normtrial.claims.trials.launch import launch
        from normtrial.claims.trials.run import run

        every, resolver = training(claims.values()), Resolver(given.set)
        start = partial(launch, extra=given.set)
        run(trained, every, given.results / "claims", resolver, start, given.seeds)
    return 0


def _collect(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    from normtrial.claims.trials.collect import Resolver, collect

    asked, every = training(selected), training(claims.values())
    found = collect(asked, every, given.results / "claims", Resolver(given.set), given.seeds)
    print(f"{len(found)} runs kept")
    return 0


def _judge(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    judged = judge_all(claims, given.results / "claims", given.seeds)
    names = {claim.id for claim in selected}
    show([one for one in judged if one.id in names])
    if len(names) == len(claims) and given.seeds is None:
        from normtrial.claims.report.write import write_report

        write_report(claims, judged, given.results)
    return 0


def _report(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    from normtrial.claims.report.write import write_report

    for path in write_report(claims, judge_all(claims, given.results / "claims", given.seeds), given.results):
        print(path)
    return 0


def _register(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    require(bool(given.ids), "claim.py register takes ids, or all.")
    date = datetime.now(UTC).date().isoformat()
    for claim in selected:
        if register(claim, given.claims / f"{claim.id}.yaml", date):
            print(f"{claim.id} registered")
    return 0


def _verify(claims: dict[str, Claim], selected: list[Claim], given: argparse.Namespace) -> int:
    found = complaints(selected)
    for text in found:
        print(text, file=sys.stderr)
    return 1 if found else 0


def judge_all(claims: dict[str, Claim], folder: Path, num_seeds: int | None = None) -> list[Judgement]:
    """A judgement on every claim, in their order."""
    found = measured.judge([claim for claim in claims.values() if isinstance(claim, MeasuredClaim)], folder)
    found += judge.judge(training(claims.values()), evidence.read(folder), num_seeds)
    by_id = {one.id: one for one in found}
    return [by_id[name] for name in claims]


def training(claims) -> list[TrainingClaim]:
    """Those that need training."""
    return [claim for claim in claims if isinstance(claim, TrainingClaim)]


def show(judged: list[Judgement]) -> None:
    """A line a finding."""
    from normtrial.claims.report.table import terminal_table

    console = Console()
    console.print(terminal_table(judged))
    counted = {verdict: sum(one.verdict == verdict for one in judged) for verdict in {j.verdict for j in judged}}
    console.print(Text(", ".join(f"{num} {verdict}" for verdict, num in sorted(counted.items()))))
