"""`claim.py report`: every file that says what was found."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from normtrial.claims.claim.model import Claim
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging.judged import Judgement
from normtrial.claims.report.forest import forest
from normtrial.claims.report.log import log
from normtrial.claims.report.markdown import markdown
from normtrial.claims.report.page import page
from normtrial.records import to_json, write_text


def write_report(claims: dict[str, Claim], judged: Sequence[Judgement], results: Path) -> list[Path]:
    """Write verdicts, figures, both pages and the log; the same bytes for the same evidence."""
    figures: dict[str, str] = {}
    for one in judged:
        claim = claims[one.id]
        if isinstance(claim, TrainingClaim) and (drawn := forest(claim, one)) is not None:
            figures[one.id] = drawn
    date = datetime.now(UTC).date().isoformat()
    texts = {
        results / "claims" / "verdicts.json": to_json({one.id: one.as_json() for one in judged}),
        results / "claims.md": markdown(claims, judged, set(figures)),
        results / "claims.html": page(claims, judged, figures),
        results / "LOG.md": log(results / "LOG.md", claims, judged, date),
        **{results / "claims" / f"{name}.svg": text for name, text in figures.items()},
    }
    for path, text in texts.items():
        write_text(path, text)
    return list(texts)
