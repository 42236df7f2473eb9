"""Everything on the page, computed once, and the template that lays it out.

What grows with the number of runs is a line of text each; figures and maps stop at the best dozen arms and say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from normtrial.errors import ConfigError
from normtrial.records import STATUSES
from normtrial.report.arms import Arm, Run, group, only_task
from normtrial.report.comparison import caption
from normtrial.report.confounds import Description, Difference, confounds, describe
from normtrial.report.outcome import Outcome, outcome_for
from normtrial.report.page.cells import FILTERS
from normtrial.report.page.sections import MOST_SHOWN, figures
from normtrial.report.page.whiskers import Scale, scale_of
from normtrial.report.selection import references
from normtrial.report.table.rows import Row, rows

HERE = Path(__file__).parent


@dataclass(slots=True)
class Histories:
    """Logged rows of runs, each file read once."""

    read: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __call__(self, run: Run) -> list[dict[str, Any]]:
        """All rows of a run."""
        if run.folder.run_id not in self.read:
            self.read[run.folder.run_id] = run.folder.read_metrics()
        return self.read[run.folder.run_id]


@dataclass(frozen=True, slots=True)
class Compared:
    """Runs as they are compared: arms with their rows, best first, under one outcome."""

    runs: list[Run]
    outcome: Outcome
    rows: list[Row]

    @property
    def arms(self) -> list[Arm]:
        """Best first."""
        return [row.arm for row in self.rows]

    def shown(self) -> list[Arm]:
        """The arms of the figures: the best dozen, a reference always among them."""
        best = self.arms[:MOST_SHOWN]
        if any(row.is_reference for row in self.rows[:MOST_SHOWN]):
            return best
        return [*best[:-1], self.rows[0].reference]


def compare(runs: list[Run], reference: str | None = None, metric: str | None = None) -> Compared:
    """Group runs into arms, and set each against its reference."""
    arms = group(runs)
    tasks = sorted({run.task for run in runs if run.task})
    if len(tasks) > 1:
        raise ConfigError(f"these runs have several tasks; add {' or '.join(f'task={task}' for task in tasks)}.")
    outcome = outcome_for(metric, only_task(arms))
    return Compared(runs, outcome, rows(arms, references(arms, reference), outcome))


def page(compared: Compared, title: str, command: str) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    descriptions = {id(arm): describe(arm) for arm in compared.arms}
    said = caption(compared.arms, compared.outcome)
    return environment.get_template("page.html").render(
        style=(HERE / "page.css").read_text(encoding="utf-8"),
        script=(HERE / "page.js").read_text(encoding="utf-8"),
        title=title,
        command=command,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        compared=compared,
        counts={status: sum(run.status == status for run in compared.runs) for status in STATUSES},
        notes=said.plain.splitlines() if said else [],
        scales=scales(compared.rows),
        lines=list(lines(compared.rows, descriptions)),
        matrix=matrix(compared.shown(), compared.rows, descriptions),
        figures=figures(compared.rows, compared.shown(), compared.outcome, Histories()),
    )


def scales(rows: list[Row]) -> dict[str, Scale]:
    """The axes of the small intervals in the table."""
    return {
        "mean": scale_of([row.mean for row in rows]),
        "difference": scale_of([row.difference for row in rows], zero=True),
    }


@dataclass(frozen=True, slots=True)
class Line:
    """An arm with what the page lists under it."""

    row: Row
    differences: list[Difference]
    commands: list[str]


def lines(rows: list[Row], descriptions: dict[int, Description]) -> Iterator[Line]:
    """Each arm's differences from its reference, and the command of every run."""
    for row in rows:
        found = confounds(descriptions[id(row.arm)], descriptions[id(row.reference)])
        yield Line(row, found, [run.folder.read_meta().get("command", "") for run in row.arm.runs])


def matrix(shown: list[Arm], rows: list[Row], descriptions: dict[int, Description]) -> dict[str, Any]:
    """Confounds of the arms of the figures as a table: a line a thing, a column an arm."""
    by_arm = {id(row.arm): row for row in rows}
    found = {
        index: {
            one.name: one for one in confounds(descriptions[id(arm)], descriptions[id(by_arm[id(arm)].reference)])
        }
        for index, arm in enumerate(shown)
    }
    order = list(dict.fromkeys(name for arm in shown for name in descriptions[id(arm)].values))
    groups = list(dict.fromkeys(name.split(".")[0] for name in order))  # an option's own leaves beside the others
    order.sort(key=lambda name: groups.index(name.split(".")[0]))
    names = [name for name in order if any(name in column for column in found.values())]
    return {
        "arms": shown,
        "columns": list(found.values()),
        "names": names,
        "rows": [by_arm[id(arm)] for arm in shown],
    }
