"""results/claims.md: a table of all claims, then a section each."""

from collections.abc import Sequence

from normtrial.claims.claim.model import Claim
from normtrial.claims.judging.judged import Finding, Judgement
from normtrial.claims.judging.verdict import OPEN, PENDING
from normtrial.claims.report.table import HEADERS, by_verdict, command, measured, number, opposed, row

INTRODUCTION = """\
# Claims on trial

Written by `python scripts/claim.py judge all` from experiments/ and results/claims/; nothing here is typed.
Effects are contrasts of arms as the claim's file writes them, with 95 % intervals over seeds; verdicts are passed
at the level that Holm's correction leaves within a family. A verdict holds for the task and size it was measured
on.
"""


def markdown(claims: dict[str, Claim], judged: Sequence[Judgement], figures: set[str]) -> str:
    """The whole page."""
    summary = ", ".join(f"{num} {name}" for name, num in by_verdict(judged))
    sections = [section(claims[one.id], one, one.id in figures) for one in judged]
    title = f"**{len(judged)} claims: {summary}.**\n"
    return "\n".join([INTRODUCTION, title, table(claims, judged), contradictions(claims, judged), *sections])


def contradictions(claims: dict[str, Claim], judged: Sequence[Judgement]) -> str:
    """Where documents contradict each other, or themselves."""
    lines = ["## Where documents contradict each other", "", "| one | the other |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {' | '.join(map(safe, pair))} |" for pair in opposed(claims, judged)), ""])


def table(claims: dict[str, Claim], judged: Sequence[Judgement]) -> str:
    """A row a claim."""
    lines = [f"| {' | '.join(HEADERS)} |", "|" + " --- |" * len(HEADERS)]
    for one in judged:
        cells = [safe(cell) for cell in row(claims[one.id], one)]
        cells[0], cells[-1] = f"[{cells[0]}](#{one.id.lower()})", f"`{cells[-1]}`"
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def section(claim: Claim, judgement: Judgement, has_figure: bool) -> str:
    """One claim: what is claimed, by whom, every reading or part, and how to do it again."""
    lines = [
        f"## {claim.id}",
        "",
        f"{claim.statement} **{judgement.verdict}**",
        "",
        f"Source: {claim.source.document}, section {claim.source.section}; reported: {claim.source.reported}.",
    ]
    if judgement.where:
        lines.append(f"Measured on: {judgement.where}.")
    lines += ["", "| reading or part | claimed | measured | n | detectable | verdict |", "|" + " --- |" * 6]
    lines += [f"| {' | '.join(map(safe, finding_row(one)))} |" for one in judgement.findings]
    notes = [f"- {one.name}: {safe('; '.join(said))}" for one in judgement.findings if (said := remarks(one))]
    lines += ["", *notes] if notes else []
    if has_figure:
        lines += ["", f"![{claim.id}](claims/{claim.id}.svg)"]
    for text in beside(claim):
        lines += ["", text]
    return "\n".join([*lines, "", f"`{command(claim.id)}`", ""])


def finding_row(finding: Finding) -> list[str]:
    """Cells of one reading or part."""
    return [
        f"{finding.name}: {finding.says}",
        finding.claimed,
        f"{measured(finding)} {finding.unit}".strip(),
        str(finding.num or "–"),
        number(finding.detectable),
        finding.verdict,
    ]


def remarks(finding: Finding) -> list[str]:
    """What numbers alone do not say."""
    said = list(finding.notes)
    if finding.means:
        said.append("means " + ", ".join(f"{arm} {number(mean)}" for arm, mean in finding.means.items()))
    if finding.rates:
        said.append("rates " + ", ".join(f"{arm} {rate:g}" for arm, rate in finding.rates.items()))
    if finding.bootstrap is not None:
        said.append(f"bootstrap [{number(finding.bootstrap[0])}, {number(finding.bootstrap[1])}]")
    if finding.p is not None and finding.level is not None:
        said.append(f"p {number(finding.p)} at level {number(finding.level)}")
    if finding.seeds_needed is not None:
        said.append(f"{finding.seeds_needed} seeds would settle it")
    elif finding.verdict in OPEN and finding.p is not None:
        said.append("not settled by 10,000 seeds")
    return said if finding.verdict != PENDING else said[:1]


def beside(claim: Claim) -> list[str]:
    """What a reader should know beside the verdict: its remark, and what was changed after it was registered."""
    said = [f"Deviation of {one.date}: {one.why}" for one in claim.deviations]
    return [claim.remark, *said] if claim.remark else said


def safe(text: str) -> str:
    """Without what ends a cell."""
    return text.replace("|", "\\|").replace("\n", " ")
