"""A claim's figure: intervals of its readings, as plain SVG: the same verdicts give the same bytes."""

import math
from html import escape

from normtrial.claims.claim.training import Prediction, TrainingClaim
from normtrial.claims.judging.judged import Finding, Judgement
from normtrial.report.figures.style import COLOURS, GREY

WIDTH, LABEL, ROW, TOP = 820, 290, 24, 30


def forest(claim: TrainingClaim, judgement: Judgement) -> str | None:
    """One row a reading: estimate, 95 % interval with an arrow where it is open, the judged one in grey.

    The claimed size is a diamond.
    """
    shown = [one for one in judgement.findings if one.interval is not None]
    if not shown:
        return None
    predictions = {one.name: claim.prediction_of(claim.readings[one.name]) for one in shown}
    left, right = extent(shown, list(predictions.values()))
    height = TOP + ROW * len(shown) + 28

    def at(value: float) -> str:
        inner = WIDTH - LABEL - 20
        return f"{LABEL + inner * (min(max(value, left), right) - left) / (right - left):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'font-family="sans-serif" font-size="12">',
        f"<title>{escape(claim.id)}: effects by reading</title>",
        f'<line x1="{at(0)}" x2="{at(0)}" y1="{TOP - 8}" y2="{height - 24}" stroke="{GREY}"/>',
    ]
    for position, finding in enumerate(shown):
        parts += row(
            finding, predictions[finding.name], TOP + ROW * position + 8, at, finding.name == claim.primary
        )
    parts += [
        f'<text x="{at(value)}" y="{height - 8}" text-anchor="middle" fill="{GREY}">{value:.3g}</text>'
        for value in dict.fromkeys((left, 0.0, right))
    ]
    parts.append(f'<text x="{LABEL}" y="14" fill="{GREY}">{escape(shown[0].unit)}</text></svg>')
    return "\n".join(parts) + "\n"


def row(finding: Finding, prediction: Prediction, y: int, at, is_primary: bool) -> list[str]:
    """Marks of one reading."""
    assert finding.interval is not None and finding.effect is not None
    delta = prediction.smallest
    weight = ' font-weight="bold"' if is_primary else ""
    marks = [
        f'<text x="0" y="{y + 4}"{weight}>{escape(finding.name)}: {escape(finding.verdict)}</text>',
        f'<rect x="{at(-delta)}" y="{y - 9}" width="{float(at(delta)) - float(at(-delta)):.1f}" height="18" '
        f'fill="{COLOURS[6]}" opacity="0.25"/>',
    ]
    if finding.judged is not None:
        marks.append(line(at(finding.judged[0]), at(finding.judged[1]), y, GREY, 1))
    marks.append(line(at(finding.interval[0]), at(finding.interval[1]), y, COLOURS[2], 3))
    marks += [
        arrow(float(at(limit)), y, math.copysign(1, limit)) for limit in finding.interval if math.isinf(limit)
    ]
    marks.append(f'<circle cx="{at(finding.effect)}" cy="{y}" r="4" fill="{COLOURS[0]}"/>')
    if prediction.size is not None:
        size = prediction.size if prediction.direction == "up" else -prediction.size
        x = float(at(size))
        marks.append(
            f'<path d="M{x - 5:.1f} {y} L{x:.1f} {y - 6} L{x + 5:.1f} {y} L{x:.1f} {y + 6} Z" '
            f'fill="none" stroke="{COLOURS[3]}" stroke-width="2"/>'
        )
    return marks


def line(x1: str, x2: str, y: int, colour: str, width: int) -> str:
    """A horizontal one."""
    return f'<line x1="{x1}" x2="{x2}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="{width}"/>'


def arrow(x: float, y: int, sign: float) -> str:
    """Where an interval has no end on this side."""
    return (
        f'<path d="M{x - 9 * sign:.1f} {y - 6} L{x:.1f} {y} L{x - 9 * sign:.1f} {y + 6} Z" fill="{COLOURS[2]}"/>'
    )


def extent(shown: list[Finding], predictions: list[Prediction]) -> tuple[float, float]:
    """From where to where the axis goes: all intervals, δ, claimed sizes, and a margin."""
    values = [limit for one in shown for limit in (one.interval or [])]
    for prediction in predictions:
        values += [-prediction.smallest, prediction.smallest]
        if prediction.size is not None:
            values.append(prediction.size if prediction.direction == "up" else -prediction.size)
    finite = [value for value in values if math.isfinite(value)]
    margin = 0.05 * (max(finite) - min(finite))
    return min(finite) - margin, max(finite) + margin
