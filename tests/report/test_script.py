"""`python scripts/report.py`: README's commands, and what it answers to mistakes."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

from normtrial.claims.claim.load import FOLDER, load_claim
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging import evidence
from normtrial.claims.judging.evidence import RunRecord
from normtrial.claims.trials.kept import is_claim, runs_of_claim
from normtrial.claims.trials.needs import arm_at
from normtrial.errors import ConfigError
from normtrial.records import write_text
from tests.support import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python scripts/report\.py(.*?)(?: +#.*)?$", README, flags=re.MULTILINE)


def report(*arguments: str) -> None:
    runpy.run_path(str(ROOT / "scripts" / "report.py"))["main"](list(arguments))


@pytest.fixture
def store(make_run) -> Path:
    for norm in ("bn", "ln"):
        make_run(norm, norm=norm, layers=1, max_len=768, steps=150)
    return make_run.store


@pytest.mark.parametrize("typed", COMMANDS)
def test_readmes_commands_answer(typed: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = shlex.split(typed)
    for word in given:
        if word.startswith("results/sweeps/"):
            write_text(tmp_path / word / "0" / "job.json", '{"run_id": "bn"}')
        if is_claim(word):
            evidence.write([record(word, "ln_pre", grid_of(word)[0], 0, "ln")], store.parent / "claims")
    before = set(tmp_path.rglob("*"))
    report(*given, "--store", str(store))
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert [path.stat().st_size > 100 for path in made] == [True] * ("--text" not in given)


def trained(name: str) -> TrainingClaim:
    claim = load_claim(FOLDER / f"{name}.yaml")
    assert isinstance(claim, TrainingClaim)
    return claim


def grid_of(name: str) -> list[float]:
    grid = trained(name).grid
    assert grid
    return list(grid)


def record(name: str, arm: str, rate: float, seed: int, run_id: str) -> RunRecord:
    overrides = arm_at(trained(name), arm, rate)
    return RunRecord(overrides, seed, run_id, "finished", 1, 1, 1.0, "code", {})


def test_a_claims_runs_are_its_arms_at_its_rates_and_seeds(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *_, last = grid_of("C62")
    records = [record("C62", "ln_pre", first, 0, "ln"), record("C62", "bn_pre", last, 101, "bn")]
    others = [record("C62", "ln_pre", 1.1 * first, 0, "rms"), record("C62", "ln_pre", first, 55, "rms")]
    evidence.write([*records, *others], store.parent / "claims")
    assert {folder.run_id for folder in runs_of_claim("C62", store, store.parent / "claims")} == {"bn", "ln"}
    report("C62", "norm=bn", "--store", str(store), "--text")
    assert "bn" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="C01 is settled by a measurement, not by runs"):
        report("C01", "--store", str(store))
    with pytest.raises(ConfigError, match=r"C53: none of its runs is in .* \(0 are kept in"):
        report("C53", "--store", str(store))


def test_readme_has_commands() -> None:
    assert len(COMMANDS) >= 3
    assert any("--text" in typed for typed in COMMANDS)


def test_the_table_is_printed(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report("norm=bn,ln", "--store", str(store), "--text", "--reference", "norm=bn")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["bn", "1", "0.800", "reference", "0", "1:23", "min", "12.3k"] in lines
    assert ["ln", "1", "0.800", "0.000", "0", "1:23", "min", "12.3k"] in lines


def test_the_page_says_what_made_it(store: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "page.html"
    report("norm=ln", "optim.lr<1", "--store", str(store), "--out", str(out))
    text = out.read_text(encoding="utf-8")
    assert "<h1>norm=ln optim.lr&lt;1</h1>" in text
    assert f"python scripts/report.py norm=ln &#39;optim.lr&lt;1&#39; --store {store}" in text
    assert [path.name for path in out.parent.iterdir()] == ["page.html"]
    with pytest.raises(ConfigError, match=f"{tmp_path} cannot be written: Is a directory"):
        report("norm=ln", "--store", str(store), "--out", str(tmp_path), "--format", "csv")
