"""The figures of a page, each with its heading and what a reader needs to know; none where there is no data."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from normtrial.report import rates
from normtrial.report.arms import Arm
from normtrial.report.figures.cells import MOST_MAPS, difference_maps, maps
from normtrial.report.figures.gap import evaluation_gap
from normtrial.report.figures.heat import gradients
from normtrial.report.figures.overlay import PANELS, Read, learning_curves
from normtrial.report.figures.rates import by_rate
from normtrial.report.figures.timeline import MOST_ARMS, events_of, timeline
from normtrial.report.outcome import Outcome
from normtrial.report.page.svg import drawn
from normtrial.report.table.rows import Row, decimal, limits

MOST_SHOWN = 12  # arms in a figure: as many lines as can be told apart
NONE_SEEN = "No run recorded a non-finite value, a spike, a plateau or an alarm."


@dataclass(frozen=True, slots=True)
class Figure:
    """A section with a drawing, or with the sentence that says why there is none."""

    name: str
    short: str  # in the page's navigation
    heading: str
    text: str
    svg: str | None
    table: list[list[str]] | None = None  # a header and lines, under the drawing


def figures(rows: list[Row], shown: list[Arm], outcome: Outcome, read: Read) -> list[Figure]:
    """All of them, in the order of the page."""
    part = f"Shown are {len(shown)} of {len(rows)} arms: the best, and a reference; a filter shows others."
    of = part if len(shown) < len(rows) else ""
    found = [
        curves(shown, outcome, read, of),
        across_rates(rows, outcome),
        padding_map(rows, outcome),
        gradient_maps(shown, read, of),
        gap(shown, outcome, read, of),
        events([row.arm for row in rows]),
    ]
    return [figure for figure in found if figure is not None]


def curves(shown: list[Arm], outcome: Outcome, read: Read, of: str) -> Figure:
    """Losses, and the metric that the table compares by."""
    panels = dict(PANELS)
    if outcome.metric not in panels:
        panels[outcome.metric] = outcome.metric
    text = (
        f"Mean over the seeds of an arm, with a band from the lowest seed to the highest. A run that diverged is "
        f"a thin line up to a cross, and its arm's mean ends there. {of}"
    )
    return Figure(
        "curves",
        "Learning curves",
        "Learning curves",
        text,
        svg("curves", text, lambda: learning_curves(shown, panels, read)),
    )


def across_rates(rows: list[Row], outcome: Outcome) -> Figure | None:
    """Final metric by learning rate, and each family at its own best; only where rates vary."""
    families = rates.families([row.arm for row in rows])
    if not families:
        return None
    best = rates.at_best(families, outcome)
    ranked = [one.family for one in best] or families
    drawing = svg("rates", "Final metric by learning rate", lambda: by_rate(ranked[:MOST_SHOWN], outcome))
    heading = "By learning rate"
    if not best:
        text = "The arms share no learning rate, so none is compared at its best."
        return Figure("rates", "Learning rates", heading, text, drawing)
    text = (
        "Each line is compared at its own best rate of the grid that all share. Sensitivity is the mean over that "
        "grid minus the best, as a loss: 0 where the rate does not matter (Wortsman et al. 2023)."
    )
    if len(best) > MOST_SHOWN:
        text += f" Drawn are the best {MOST_SHOWN} of {len(best)}."
    return Figure("rates", "Learning rates", heading, text, drawing, best_rates(best, rows, outcome))


def best_rates(best: list[rates.AtBest], rows: list[Row], outcome: Outcome) -> list[list[str]]:
    """A header, and a line a family at its best rate: against its reference's family, at the best of that."""
    family_of = {id(arm): one for one in best for arm in one.family.arms.values()}
    reference_of = {family_of[id(row.arm)].family.name: family_of[id(row.reference)] for row in rows}
    names = {one.family.name for one in reference_of.values()}
    against = names.pop() if len(names) == 1 else "its reference"
    table = [["arm", "best rate", outcome.metric, "95 %", f"difference from {against}", "sensitivity"]]
    for one in best:
        other = reference_of[one.family.name]
        difference = rates.difference_at_best(one, other, outcome)
        shown = f"{decimal(difference.estimate, signed=True)} {limits(difference, signed=True)}"
        cells = [f"{one.rate:g}", decimal(one.value.estimate), limits(one.value), "" if one is other else shown]
        table.append([one.family.name, *cells, decimal(one.sensitivity)])
    return table


def padding_map(rows: list[Row], outcome: Outcome) -> Figure | None:
    """Paired differences over batch size and padding; only where both vary."""
    text = (
        "Paired difference from the reference at the same batch size and padding: orange is worse than the "
        "reference, purple better, and a frame says that the 95 % interval excludes zero."
    )
    num_maps = len(maps(rows))
    if num_maps > MOST_MAPS:
        text += f" Shown are {MOST_MAPS} of {num_maps} maps; a filter shows others."
    drawing = svg("map", text, lambda: difference_maps(rows, outcome))
    return Figure("map", "Batch size × padding", "Batch size × padding", text, drawing) if drawing else None


def gradient_maps(shown: list[Arm], read: Read, of: str) -> Figure:
    """Gradient norms by site and step."""
    text = (
        f"Geometric mean over the seeds of an arm, the same scale for all; input at the top. Orange: not finite, "
        f"zero or missing in one of them. Empty: the arm has no such site. {of}"
    )
    drawing = svg("gradients", text, lambda: gradients(shown, read))
    if drawing is None:
        text = "No gradient norm by site was recorded (probe gradient_norms)."
    return Figure("gradients", "Gradients", "Gradient norm by site and step", text, drawing)


def gap(shown: list[Arm], outcome: Outcome, read: Read, of: str) -> Figure | None:
    """Running against batch statistics; only where an arm of the page has both."""
    text = (
        f"{outcome.metric} with running statistics minus the same with the statistics of the evaluated batch. "
        f"Zero: training and evaluation agree. {of}"
    )
    drawing = svg("gap", text, lambda: evaluation_gap(shown, outcome, read))
    return (
        Figure("gap", "Training–inference gap", "BatchNorm between training and inference", text, drawing)
        if drawing
        else None
    )


def events(arms: list[Arm]) -> Figure:
    """Non-finite values, spikes and alarms of all arms."""
    found = events_of(arms)
    heading = "Non-finite values and spikes"
    if not found:
        return Figure("events", "Events", heading, NONE_SEEN, None)
    text = (
        f"{len(found)} of {len(arms)} arms had any; spikes are losses above median + 10 MAD of the last 50 steps."
    )
    if len(found) > MOST_ARMS:
        text += f" Shown are the {MOST_ARMS} best of them."
    return Figure("events", "Events", heading, text, svg("events", text, lambda: timeline(found)))


def svg(name: str, label: str, draw: Callable[[], Any]) -> str | None:
    """A drawing for this section, with its label."""
    return drawn(name, escape(label, quote=True), draw)
