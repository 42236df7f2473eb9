"""How values are written in the page's cells: the filters of its template."""

import math
from typing import Any

from normtrial.report.arms import Run
from normtrial.report.outcome import Outcome
from normtrial.report.table.rows import center, decimal, duration, limits
from normtrial.training.sinks.progress import number, short

LONGEST = 28  # characters of a value in the table of differences; hashes and lists are cut there


def value(number_or_none: float | None) -> str:
    """A number for sorting; empty where there is none.

    >>> value(0.5), value(None), value(math.inf)
    ('0.5', '', '')
    """
    return "" if number_or_none is None or not math.isfinite(number_or_none) else repr(number_or_none)


def brief(text: str) -> str:
    """The beginning of a long value.

    >>> brief("short"), brief("x" * 40)
    ('short', 'xxxxxxxxxxxxxxxxxxxxxxxxxxx…')
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def result(run: Run, outcome: Outcome) -> str:
    """What a run reached, in words."""
    reached = run.value(outcome)
    if reached is None:
        return "no result"
    return f"{outcome.metric} {number(reached)}" if math.isfinite(reached) else f"no {outcome.metric}"


FILTERS: dict[str, Any] = {
    "value": value,
    "finite": math.isfinite,
    "decimal": decimal,
    "limits": limits,
    "center": center,
    "short": short,
    "duration": duration,
    "brief": brief,
    "result": result,
}
