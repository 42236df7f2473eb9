"""The report: the same bytes from the same evidence, and every claim on both pages."""

import json
import math
import shutil
from collections import Counter
from pathlib import Path

import pytest

from normtrial.claims.claim.load import load_claims
from normtrial.claims.command import main
from normtrial.claims.judging import evidence as kept
from normtrial.claims.judging.judge import judge
from normtrial.claims.judging.verdict import VERDICTS
from normtrial.claims.report.forest import forest
from normtrial.claims.report.log import log
from normtrial.claims.report.markdown import markdown
from normtrial.claims.report.page import page
from tests.claims.made import CLAIM, claim, evidence, written
from tests.claims.test_judge import VALUES
from tests.support import ROOT

RESULTS = ROOT / "results"
WRITTEN = ("claims.md", "claims.html", "LOG.md", "claims/verdicts.json")
KEPT = ("claims/measured.json", "claims/runs.parquet", "LOG.md")


def test_a_fresh_clone_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in KEPT:
        if (RESULTS / name).exists():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(RESULTS / name, tmp_path / name)
    assert main(["judge", "all", "--results", str(tmp_path)]) == 0
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file())
    assert set(map(Path, WRITTEN)) <= set(made)
    for name in made:
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name


def test_every_claim_is_on_both_pages() -> None:
    pages = [(RESULTS / name).read_text(encoding="utf-8") for name in WRITTEN[:2]]
    for name, one in load_claims().items():
        assert f"## {name}\n" in pages[0] and one.statement.replace("|", "\\|") in pages[0]
        assert f'<section id="{name}">' in pages[1]


def test_the_readme_counts_them_right() -> None:
    verdicts = json.loads((RESULTS / "claims" / "verdicts.json").read_text(encoding="utf-8")).values()
    counted = Counter(one["verdict"] for one in verdicts)
    words = ", ".join(f"{counted[name]} {name}" for name in VERDICTS if counted[name])
    assert words in (ROOT / "README.md").read_text(encoding="utf-8")


def test_claims_are_listed_and_shown(capsys: pytest.CaptureFixture) -> None:
    assert main(["list", "--kind", "cost"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "C83",
        "C84",
        "C85",
        "C86",
        "C87",
    ]
    assert main(["show", "C09"]) == 0
    assert "measure: deviation_and_eps" in capsys.readouterr().out


def test_a_trained_claim_has_a_figure(tmp_path: Path) -> None:
    one = claim(tmp_path)
    judged = judge([one], evidence(one, VALUES))[0]
    drawn = forest(one, judged)
    assert drawn is not None and drawn.count("<circle") == 1 and drawn.count("<path") == 1
    assert "reproduced" in drawn and forest(one, judge([one], {})[0]) is None
    judged.findings[0].interval = [-math.inf, -0.05]
    opened = forest(one, judged)
    assert opened is not None and opened.count("<path") == 2 and "inf" not in opened


def test_both_pages_say_what_was_changed_after_registration(tmp_path: Path) -> None:
    said = 'remark: "Beside it."\ndeviations: [{date: "2026-11-30", why: "seeds < 9", hash: "0123456789ab"}]\n'
    one = claim(tmp_path, CLAIM + said)
    judged = judge([one], evidence(one, VALUES))
    text, html = markdown({"T1": one}, judged, set()), page({"T1": one}, judged, {})
    assert "Beside it.\n\nDeviation of 2026-11-30: seeds < 9\n" in text
    assert "<p>Beside it.</p>\n<p>Deviation of 2026-11-30: seeds &lt; 9</p>" in html
    assert all("Measured on: model=tiny data=reviews_zh" in each for each in (text, html))


def test_the_log_gets_an_entry_where_a_verdict_is_new(tmp_path: Path) -> None:
    one, path = claim(tmp_path), tmp_path / "LOG.md"
    nothing, something = judge([one], {}), judge([one], evidence(one, VALUES))
    assert "## " not in log(path, {"T1": one}, nothing, "2026-11-29")
    path.write_text(log(path, {"T1": one}, something, "2026-11-29"), encoding="utf-8")
    assert "## 2026-11-29 T1: reproduced\n" in path.read_text()
    assert log(path, {"T1": one}, something, "2026-12-24") == path.read_text()
    changed = judge([one], evidence(one, VALUES | {"bn": VALUES["ln"]}))
    later = log(path, {"T1": one}, changed, "2026-12-24")
    assert later.startswith(path.read_text()) and "## 2026-12-24 T1: no effect\n" in later


def test_the_command_judges_made_up_runs(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    (tmp_path / "experiments").mkdir()
    written(tmp_path / "experiments")
    one = claim(tmp_path)
    kept.write(evidence(one, VALUES).values(), tmp_path / "results" / "claims")
    given = ["--claims", str(tmp_path / "experiments"), "--results", str(tmp_path / "results")]
    assert main(["judge", "all", *given]) == 0
    assert "1 reproduced" in capsys.readouterr().out
    assert (tmp_path / "results" / "claims" / "T1.svg").exists()
