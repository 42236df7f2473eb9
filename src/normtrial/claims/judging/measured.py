"""Verdicts on exact and cost claims from what `claim.py run` measured: results/claims/measured.json."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from normtrial import records
from normtrial.claims.claim.model import MeasuredClaim
from normtrial.claims.judging import verdict
from normtrial.claims.judging.judged import Finding, Judgement, limits, rounded
from normtrial.report.inference import Interval, median_interval

FILE = "measured.json"
Measured = dict[str, dict[str, list[float]]]  # claim -> part -> values: one, or a ratio a pair


def read(folder: Path) -> dict[str, Any]:
    """What was measured, and on which machine."""
    return records.read_json(folder / FILE) or {"about": {}, "parts": {}}


def write(folder: Path, measured: Measured, about: dict[str, str]) -> None:
    """Keep new measurements beside the others, in six digits."""
    kept = read(folder)
    for name, parts in measured.items():
        kept["parts"][name], kept["about"][name] = rounded(parts), about[name]
    ordered = {key: dict(sorted(kept[key].items())) for key in ("about", "parts")}
    records.write_text(folder / FILE, records.to_json(ordered))


def judge(claims: Iterable[MeasuredClaim], folder: Path) -> list[Judgement]:
    """A judgement a claim."""
    kept = read(folder)
    return [_judge(claim, kept["parts"].get(claim.id, {}), kept["about"].get(claim.id, "")) for claim in claims]


def _judge(claim: MeasuredClaim, values: dict[str, list[Any]], where: str) -> Judgement:
    findings, held = [], []
    for name, part in claim.parts.items():
        finding = Finding(name, part.says, verdict.PENDING, claimed=part.in_words())
        findings.append(finding)
        if name not in values:
            finding.notes.append("not measured yet")
            continue
        numbers = [float(value) for value in values[name]]  # "nan" and "inf" too, as strict JSON has them
        measured = median_interval(numbers) if len(numbers) > 1 else Interval(*numbers * 3)
        finding.num, finding.effect, finding.interval = len(numbers), measured.estimate, limits(measured)
        held.append(part.holds(measured))
        finding.verdict = verdict.of_parts(held[-1:])
    total = verdict.PENDING if len(held) < len(findings) else verdict.of_parts(held)
    return Judgement(claim.id, claim.kind, total, "", findings, where)
