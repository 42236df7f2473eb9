"""Imports go downwards only: import-linter's verdict on the package, and on copies with one wrong import."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT_IMPORTS = "from importlinter.cli import lint_imports_command as main; main()"


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """Judge the package in a folder; another process, for a package is imported once only.

    Without the cache: it recognizes files by their modification time, and the copies share theirs.
    """
    command = [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--no-logo", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_every_contract_is_kept() -> None:
    judged = lint_imports(ROOT / "src")
    assert judged.returncode == 0, judged.stdout + judged.stderr
    assert " 0 broken" in judged.stdout


@pytest.mark.parametrize(
    ("wing", "line", "contract"),
    [
        ("data", "import normtrial.training", "Imports go downwards only"),
        ("norms", "import normtrial.placements", "Imports go downwards only"),
        ("training", "import normtrial.norms", "The instrument never knows what is studied"),
        ("report", "import torch", "Judging and reporting need no torch"),
        ("network", "import hydra", "Only the configuration knows Hydra"),
    ],
)
def test_a_wrong_import_breaks_its_contract(tmp_path: Path, wing: str, line: str, contract: str) -> None:
    package = tmp_path / "normtrial"
    shutil.copytree(ROOT / "src" / "normtrial", package, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / wing / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    judged = lint_imports(tmp_path)
    assert judged.returncode == 1, judged.stdout + judged.stderr
    assert f"{contract} BROKEN" in " ".join(judged.stdout.split())
