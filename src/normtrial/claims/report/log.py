"""results/LOG.md: a dated entry for every verdict, new or changed; what it says is never changed afterwards."""

import re
from collections.abc import Sequence
from pathlib import Path

from normtrial.claims.claim.model import Claim
from normtrial.claims.judging.judged import Judgement
from normtrial.claims.judging.verdict import PENDING
from normtrial.claims.report.table import headline

HEAD = "# Log of verdicts\n\nThe newest entry comes last. `python scripts/claim.py judge all` adds to it.\n"
ENTRY = re.compile(r"^## \S+ (\S+): (.+)$", re.MULTILINE)


def log(path: Path, claims: dict[str, Claim], judged: Sequence[Judgement], date: str) -> str:
    """The log with entries for what has no entry yet or another verdict in its last one; else as it is."""
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    last = dict(ENTRY.findall(text))
    for one in judged:
        if one.verdict != PENDING and last.get(one.id) != one.verdict:
            text += (
                f"\n## {date} {one.id}: {one.verdict}\n\n{claims[one.id].statement} Measured: {headline(one)}.\n"
            )
    return text
