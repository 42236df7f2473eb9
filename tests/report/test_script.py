"""`python scripts/report.py`: README's commands, and what it answers to mistakes."""

import re
import runpy
import shlex
from pathlib import Path

import pytest

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
    before = set(tmp_path.rglob("*"))
    report(*given, "--store", str(store))
    made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert [path.stat().st_size > 100 for path in made] == [True] * ("--text" not in given)


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
