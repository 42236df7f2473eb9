"""When non-finite values, spikes and alarms happened: a line an arm, a mark where any of its runs had one."""

from typing import Any

from normtrial.report.arms import Arm, Run
from normtrial.report.figures.style import COLOURS, GREY, PAGE_WIDTH, legend, new_figure, tidy
from normtrial.training.sinks.progress import in_words

BINS = 200  # along the steps; more marks than that are one smear
MOST_ARMS = 24
# Each kind has its own shape; fatal ones are crosses.
MARKS: dict[str, dict[str, Any]] = {
    "nonfinite_loss": {"marker": "X", "color": COLOURS[3], "markersize": 9},
    "nonfinite_grad": {"marker": "P", "color": COLOURS[1], "markersize": 8},
    "scaler_skip": {"marker": "s", "color": COLOURS[6], "markersize": 5},
    "dead_output": {"marker": "v", "color": COLOURS[5], "markersize": 6},
    "spike": {"marker": "^", "color": COLOURS[2], "markersize": 6},
    "plateau": {"marker": "|", "color": COLOURS[0], "markersize": 11, "markeredgewidth": 2},
}
ALARM = {"marker": "d", "color": COLOURS[4], "markersize": 6}


def events_of(arms: list[Arm]) -> list[tuple[Arm, dict[str, list[int]]]]:
    """The arms that had events, and the steps of each kind; only runs whose summary counts any are opened."""
    found = []
    for arm in arms:
        kinds: dict[str, list[int]] = {}
        for run in arm.runs:
            for event in run.folder.read_events() if may_have_events(run) else []:
                kinds.setdefault(event["kind"], []).append(event["step"])
        if kinds:
            found.append((arm, kinds))
    return found


def may_have_events(run: Run) -> bool:
    """False only where the summary says that there were none."""
    return run.summary is None or bool(run.summary.get("events")) or run.status == "diverged"


def timeline(found: list[tuple[Arm, dict[str, list[int]]]]) -> Any:
    """Draw the arms with their events, at most 24 of them."""
    shown = found[:MOST_ARMS]
    figure = new_figure(PAGE_WIDTH, 0.3 * len(shown) + 1.2)
    axes = figure.subplots()
    tidy(axes, "Events by step, all seeds of an arm on its line", "")
    last = max(arm.config.get("train.steps") or 1 for arm, _ in shown)
    handles: dict[str, Any] = {}
    for height, (_, kinds) in enumerate(shown):
        axes.axhline(height, color=GREY, linewidth=0.5, alpha=0.5, zorder=0)
        for kind, steps in sorted(kinds.items()):
            places = sorted({round(step * BINS / last) * last / BINS for step in steps})
            mark = MARKS.get(kind, ALARM)
            (line,) = axes.plot(places, [height] * len(places), linestyle="", **mark)
            handles.setdefault(in_words(kind), line)
    axes.set_yticks(range(len(shown)), [arm.name for arm, _ in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(0, last * 1.02)
    axes.grid(False, axis="y")
    axes.set_xlabel("step", fontsize=9)
    legend(figure, handles)
    return figure
