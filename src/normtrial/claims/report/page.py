"""results/claims.html: the same as one page with figures, without scripts and without anything from elsewhere."""

from collections.abc import Sequence
from html import escape

from normtrial.claims.claim.model import Claim
from normtrial.claims.judging.judged import Judgement
from normtrial.claims.report.markdown import beside, finding_row, remarks
from normtrial.claims.report.table import HEADERS, by_verdict, command, opposed, row

STYLE = """
body { font: 15px/1.5 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #111; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border-bottom: 1px solid #ddd; padding: .3em .6em; text-align: left; vertical-align: top; }
code { background: #f4f4f4; } .verdict { font-weight: bold; } section { margin-top: 3em; }
"""


def page(claims: dict[str, Claim], judged: Sequence[Judgement], figures: dict[str, str]) -> str:
    """The whole page."""
    summary = ", ".join(f"{num} {name}" for name, num in by_verdict(judged))
    sections = "\n".join(section(claims[one.id], one, figures.get(one.id, "")) for one in judged)
    rows = [
        [f'<a href="#{one.id}">{one.id}</a>', *map(escape, row(claims[one.id], one)[1:-1]), code(command(one.id))]
        for one in judged
    ]
    pairs = [list(map(escape, pair)) for pair in opposed(claims, judged)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Claims on trial</title>'
        f"<style>{STYLE}</style></head><body>\n<h1>Claims on trial</h1>\n<p>{len(judged)} claims: {summary}.</p>\n"
        f"{table(HEADERS, rows)}\n<h2>Where documents contradict each other</h2>\n"
        f"{table(('one', 'the other'), pairs)}\n{sections}\n</body></html>\n"
    )


def section(claim: Claim, judgement: Judgement, figure: str) -> str:
    """One claim."""
    headers = ("reading or part", "claimed", "measured", "n", "detectable", "verdict")
    rows = [[escape(cell) for cell in finding_row(one)] for one in judgement.findings]
    notes = [f"{one.name}: {'; '.join(said)}" for one in judgement.findings if (said := remarks(one))]
    source = f"{claim.source.document}, section {claim.source.section}; reported: {claim.source.reported}."
    where = f" Measured on: {judgement.where}." if judgement.where else ""
    return "\n".join(
        [
            f'<section id="{claim.id}"><h2>{claim.id}</h2>',
            f'<p>{escape(claim.statement)} <span class="verdict">{judgement.verdict}</span></p>',
            f"<p>Source: {escape(source + where)}</p>",
            figure,
            table(headers, rows),
            f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in notes)}</ul>" if notes else "",
            *(f"<p>{escape(text)}</p>" for text in beside(claim)),
            f"<p>{code(command(claim.id))}</p></section>",
        ]
    )


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells are HTML already."""
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "\n".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>" for cells in rows)
    return f"<table><tr>{head}</tr>\n{body}</table>"


def code(text: str) -> str:
    """As typed."""
    return f"<code>{escape(text)}</code>"
