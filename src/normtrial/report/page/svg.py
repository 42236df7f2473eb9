"""Matplotlib's figures as SVG inside a page: its fonts, its colours, its light and dark."""

import io
import re
from collections.abc import Callable
from typing import Any

from normtrial.report.figures.style import COLOURS, GREY

INK = "#010203"  # a black that nothing else is drawn in, so that it can be found again
FONTS = re.compile(r"(font: [^;\"]*?px) '[^;\"]*")
HEADER = re.compile(r"^.*?(?=<svg)|<metadata>.*?</metadata>", re.DOTALL)
SIZE = re.compile(r'<svg ([^>]*?)width="([\d.]+)pt" height="([\d.]+)pt"')
REFERENCED = re.compile(r'(?:href="#|url\(#)([^")]+)')
IDENTIFIER = re.compile(r' id="([^"]+)"')
REFERENCE = re.compile(r'( id="|href="#|url\(#)')
# The page defines these colours twice, so that each has contrast on white and on black.
NAMES = {colour.lower(): f"var(--series-{index})" for index, colour in enumerate(COLOURS)}
NAMES |= {INK: "currentColor", GREY: "var(--muted)"}
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text that can be searched, read aloud and resized
    "svg.hashsalt": "normtrial",  # the same figure is the same bytes
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.titlecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.labelcolor": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def drawn(prefix: str, label: str, draw: Callable[[], Any]) -> str | None:
    """What `draw` draws as an `<svg>` with a label for screen readers; None where it has nothing to draw."""
    from matplotlib import rc_context

    with rc_context(STYLE):
        figure = draw()
        if figure is None:
            return None
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return inline(stream.getvalue(), prefix, label)


def inline(text: str, prefix: str, label: str) -> str:
    """A page's version of an SVG file.

    Identifiers that something refers to get a prefix, for several figures share one page; the others go. Colours
    become the page's variables.
    """
    text = HEADER.sub("", text).strip()
    text = SIZE.sub(rf'<svg \1style="width:{_pixels(text)}px" role="img" aria-label="{label}"', text, count=1)
    used = set(REFERENCED.findall(text))
    text = IDENTIFIER.sub(lambda match: match[0] if match[1] in used else "", text)
    text = REFERENCE.sub(rf"\g<1>{prefix}-", text)
    text = FONTS.sub(r"\1 var(--sans)", text)
    return re.sub("|".join(map(re.escape, NAMES)), lambda match: NAMES[match[0]], text)


def _pixels(text: str) -> int:
    match = SIZE.search(text)
    assert match is not None
    return round(float(match[2]) * 4 / 3)  # a point is 4/3 of a CSS pixel
