"""The comparison table at a sweep's end: one row an arm, best first, every run accounted for."""

import math
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from normtrial.records import RunFolder
from normtrial.report.advice import advice
from normtrial.report.arms import Arm, Run, group, only_task
from normtrial.report.outcome import Outcome, outcome_for
from normtrial.training.sinks.progress import baseline_of, number, short


def print_comparison(
    folders: Iterable[RunFolder | Run], metric: str | None = None, console: Console | None = None
) -> list[Arm]:
    """Print one table for each task among the runs, and give the arms back."""
    arms = group(folders)
    console = console or Console()
    if not arms:
        console.print("No runs to compare.")
        return arms
    by_task: dict[str | None, list[Run]] = {}
    for arm in arms:
        task = next((run.task for run in arm.runs if run.task), None)
        by_task.setdefault(task, []).extend(arm.runs)
    for task, members in by_task.items():
        named = arms if len(by_task) == 1 else group(members)
        console.print(comparison_table(named, outcome_for(metric, task)))
    return arms


def comparison_table(arms: list[Arm], outcome: Outcome | None = None) -> Table:
    """One row an arm, best mean first."""
    outcome = outcome or outcome_for(None, only_task(arms))
    better = "more" if outcome.direction == "max" else "less"
    table = Table(
        title=Text(f"{outcome.metric} ({better} is better), mean ± sd over n seeds", "bold"),
        caption=caption(arms, outcome),
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        title_justify="left",
        caption_justify="left",
    )
    table.add_column("arm", ratio=None, overflow="fold")
    for title in ("n", "mean ± sd", "best", "diverged", "params", "tok/s"):
        table.add_column(title, justify="right", no_wrap=True)
    for arm in sorted(arms, key=lambda arm: outcome.rank(arm.mean(outcome))):
        table.add_row(*row(arm, outcome))
    return table


def row(arm: Arm, outcome: Outcome) -> list[Text]:
    """An arm's cells."""
    num, all_runs = len(arm.values(outcome)), len(arm.runs)
    mean, spread, best = arm.mean(outcome), arm.spread(outcome), arm.best(outcome)
    diverged = arm.count("diverged")
    if math.isfinite(mean):
        center = f"{number(mean)} ± {'?' if spread is None else number(spread)}"
    else:
        center = "failed" if num else "no result"
    return [
        Text(arm.name),
        Text(f"{num}" if num == all_runs else f"{num} of {all_runs}"),
        Text(center, "" if math.isfinite(mean) else "bold red"),
        Text("" if best is None else number(best)),
        Text(str(diverged), "bold red" if diverged else ""),
        Text(short(arm.average("model:parameters"))),
        Text(short(arm.average("metrics:throughput/tokens_per_s"))),
    ]


def caption(arms: list[Arm], outcome: Outcome) -> Text | None:
    """What the columns do not say: the trivial predictor, diverged runs, runs without a result, advice."""
    lines = []
    name = outcome.metric.rsplit("/", 1)[1]
    trivial = {value for arm in arms if (value := arm.average(f"trivial:{name}")) is not None}
    if len(trivial) == 1:
        lines.append(f"trivial predictor: {number(trivial.pop())}")
    found = [baseline_of(run.summary) for arm in arms for run in arm.runs if run.summary]
    reached = {(one["model"], one["metrics"].get(outcome.metric)) for one in found if one}
    if len(reached) == 1 and (best := reached.pop())[1] is not None:
        lines.append(f"{best[0]}: {number(best[1])}")
    if any(arm.count("diverged") for arm in arms):
        counted = "as 0" if outcome.direction == "max" else "as failed, and so does their arm's mean"
        lines.append(f"diverged runs count {counted}")
    for status in ("crashed", "interrupted"):
        if num := sum(arm.count(status) for arm in arms):
            lines.append(f"{num} {status}, not in the mean")
    for arm in arms:
        if told := next((text for run in arm.runs if (text := advice(run))), None):
            lines.append(f"{arm.name}: {told}")
    return Text("\n".join(lines), "dim") if lines else None
