"""Where one arm loses to another: the paired difference at each batch size and padding."""

import math
from typing import Any

from normtrial.report.arms import Arm, name_of
from normtrial.report.figures.style import PAGE_WIDTH, new_figure, tidy
from normtrial.report.outcome import Outcome
from normtrial.report.table.rows import Row, mean_of

BATCH = "data.batch_size"
MOST_MAPS = 6
FAILED = (0.6, 0.6, 0.6, 1.0)
PADDING = ("data.max_len", "data.batching", "norm.padding")  # what decides how much padding a norm sees


def maps(rows: list[Row]) -> dict[str, list[Row]]:
    """Arms that are compared, by what is not on the axes; empty unless batch size and padding both vary."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if BATCH in row.arm.settings and not row.is_reference:
            told = [leaf for leaf in row.arm.told if leaf != BATCH and leaf not in PADDING]
            found.setdefault(name_of(row.arm.config, told), []).append(row)
    return {name: part for name, part in found.items() if len(sizes(part)) > 1 and len(paddings(part)) > 1}


def sizes(rows: list[Row]) -> list[int]:
    """Batch sizes, ascending."""
    return sorted({row.arm.config[BATCH] for row in rows})


def paddings(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows by how they are padded, those with most padding first; told by the settings in which they differ."""
    leaves = [leaf for leaf in PADDING if len({row.arm.settings.get(leaf) for row in rows}) > 1]
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(", ".join(f"{leaf}={row.arm.settings[leaf]}" for leaf in leaves), []).append(row)
    share = {name: max(padding_share(row.arm) or 0.0 for row in part) for name, part in found.items()}
    return {name: found[name] for name in sorted(found, key=lambda name: (-share[name], name))}


def padding_share(arm: Arm) -> float | None:
    """The share of a batch that is padding, as measured when the data was prepared."""
    return mean_of([(run.summary or {}).get("data", {}).get("padding_share") for run in arm.runs])


def difference_maps(rows: list[Row], outcome: Outcome) -> Any:
    """A map an arm, of the best six: the paired difference, framed where its interval excludes zero."""
    found = dict(list(maps(rows).items())[:MOST_MAPS])
    if not found:
        return None
    values = [row.difference.estimate for part in found.values() for row in part]
    most = max((abs(value) for value in values if math.isfinite(value)), default=0.0) or 1.0
    heights = [0.9 + 0.55 * len(paddings(part)) for part in found.values()]
    figure = new_figure(PAGE_WIDTH, sum(heights))
    panels = figure.subplots(len(found), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (name, part) in zip(panels, found.items(), strict=True):
        against = sorted({row.reference.config["norm.name"] for row in part})
        tidy(axes, f"{name} − {' / '.join(against)}: {outcome.metric}", "")
        columns, lines = sizes(part), paddings(part)
        for y, line in enumerate(lines.values()):
            for row in line:
                draw_cell(axes, row, (columns.index(row.arm.config[BATCH]), y), most, outcome)
        axes.set_xlim(-0.5, len(columns) - 0.5)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.set_xticks(range(len(columns)), [str(size) for size in columns])
        axes.set_yticks(range(len(lines)), lines)
        axes.set_xlabel(BATCH, fontsize=9)
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)
    return figure


def draw_cell(axes: Any, row: Row, place: tuple[int, int], most: float, outcome: Outcome) -> None:
    """A difference in colour and in numbers, with the padding there was."""
    from matplotlib import colormaps, rcParams
    from matplotlib.patches import Rectangle

    (x, y), found = place, row.difference
    there = math.isfinite(found.estimate)
    sure = math.isfinite(found.low) and (found.low > 0 or found.high < 0)
    # Orange is worse and purple better, whichever way the metric runs; the number says it in grey.
    colours = colormaps["PuOr" if outcome.direction == "max" else "PuOr_r"]
    shade = colours(0.5 + 0.42 * found.estimate / most) if there else FAILED
    frame = {"edgecolor": rcParams["text.color"], "linewidth": 1.6 if sure else 0}
    axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=shade, **frame))
    light = 0.3 * shade[0] + 0.59 * shade[1] + 0.11 * shade[2] > 0.5
    text = {"ha": "center", "va": "center", "color": "#111111" if light else "#ffffff"}  # on white and black alike
    digits = max(3, 1 - math.floor(math.log10(most)))
    value = f"{found.estimate:+.{digits}f}" if there else "failed"
    axes.text(x, y - 0.1, value, fontsize=9.5, fontweight="bold" if sure else "normal", **text)
    axes.text(x, y + 0.24, beside(row, digits), fontsize=6.5, **text)


def beside(row: Row, digits: int) -> str:
    """The interval's half width and the share of padding, small."""
    share, interval = padding_share(row.arm), row.difference
    parts = [f"± {(interval.high - interval.low) / 2:.{digits}f}"] if math.isfinite(interval.low) else []
    return " · ".join([*parts, *([f"{share:.0%} padding"] if share is not None else [])])
