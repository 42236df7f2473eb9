"""Made-up runs that trained without W&B, and the command that mirrors them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normtrial.claims.trials.kept import named_runs
from normtrial.dashboard import command
from normtrial.records import RunFolder, write_text
from tests.report.conftest import Factory

PROJECT = "normtrial-test"


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., RunFolder]:
    """Made-up runs with log=file."""
    factory = Factory(tmp_path / "runs")

    def made(run_id: str, **changes: Any) -> RunFolder:
        folder = factory(run_id, **changes)
        lines = [line for line in folder.config_text().splitlines() if not line.startswith("log:")]
        write_text(folder.path / "config.yaml", "\n".join([*lines, "log: {}", ""]))
        return folder

    return made


def sync(store: Path, *arguments: str) -> int:
    return command.main(["sync", "--store", str(store), "--project", PROJECT, *arguments], named_runs)
