"""What a table says of a finding, and the table on the terminal."""

from collections import Counter
from collections.abc import Iterable

from rich import box
from rich.table import Table
from rich.text import Text

from normtrial.claims.claim.model import Claim
from normtrial.claims.judging.judged import Finding, Judgement
from normtrial.claims.judging.verdict import VERDICTS

HEADERS = ("claim", "statement", "the document says", "measured", "verdict", "n", "run it again")


def number(value: float | None) -> str:
    """Three digits, and whole numbers whole.

    >>> number(0.01234), number(4096.0), number(None)
    ('0.0123', '4096', '–')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e6 else f"{value:.3g}"


def measured(finding: Finding) -> str:
    """Effect and 95 % interval; one number where there is no spread."""
    if finding.effect is None or finding.interval is None:
        return "–"
    low, high = finding.interval
    if finding.num <= 1 or low == high:
        return number(finding.effect)
    return f"{number(finding.effect)} [{number(low)}, {number(high)}]"


def headline(judgement: Judgement) -> str:
    """The measured numbers in a table's cell: of the primary reading, or of each part."""
    if judgement.primary:
        finding = judgement.primary_finding()
        return f"{measured(finding)} {finding.unit}".strip()
    return "; ".join(f"{one.name.replace('_', ' ')} {measured(one)}" for one in judgement.findings)


def count(judgement: Judgement) -> str:
    """How many seeds or pairs it rests on."""
    finding = judgement.primary_finding()
    return str(finding.num) if finding.num else "–"


def command(name: str) -> str:
    """What measures and judges it anew."""
    return f"python scripts/claim.py run {name} && python scripts/claim.py judge {name}"


def row(claim: Claim, judgement: Judgement) -> list[str]:
    """A claim's cells, in the order of HEADERS."""
    source = f"{claim.source.document.split('_')[0]}, {claim.source.section}: {claim.source.reported}"
    return [
        claim.id,
        claim.statement,
        source,
        headline(judgement),
        judgement.verdict,
        count(judgement),
        command(claim.id),
    ]


def opposed(claims: dict[str, Claim], judged: Iterable[Judgement]) -> list[list[str]]:
    """Claims that contradict each other, two a row: each with its verdict, which decides between them."""
    verdicts = {one.id: one.verdict for one in judged}
    return [
        [f"{one}: {claims[one].statement} ({verdicts[one]})" for one in (claim.id, other)]
        for claim in claims.values()
        for other in claim.against
    ]


def by_verdict(judged: Iterable[Judgement]) -> list[tuple[str, int]]:
    """How many claims have each verdict, in a fixed order."""
    counted = Counter(one.verdict for one in judged)
    return [(name, counted[name]) for name in VERDICTS if counted[name]]


def terminal_table(judged: Iterable[Judgement]) -> Table:
    """A line a finding."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for header in ("claim", "reading or part", "claimed", "measured", "n", "verdict", ""):
        table.add_column(header, overflow="fold")
    for judgement in judged:
        for position, finding in enumerate(judgement.findings):
            notes = list(finding.notes)
            if finding.detectable is not None:
                notes.append(f"detectable {number(finding.detectable)}")
            if finding.seeds_needed is not None:
                notes.append(f"{finding.seeds_needed} seeds would settle it")
            table.add_row(
                Text(judgement.id if position == 0 else ""),
                Text(finding.name, "bold" if finding.name == judgement.primary else ""),
                Text(finding.claimed),
                Text(measured(finding)),
                Text(str(finding.num or "–")),
                Text(finding.verdict),
                Text("; ".join(notes)),
            )
        if len(judgement.findings) > 1 and not judgement.primary:
            table.add_row("", "", "", "", "", Text(judgement.verdict, "bold"), "")
    return table
