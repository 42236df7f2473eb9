"""Advice for a run that has not learned anything: where it is known what helps, and nowhere else."""

from typing import Any

import pytest
from rich.console import Console

from normtrial.records import RunFolder, write_text
from normtrial.report.advice import advice
from normtrial.report.arms import Run
from normtrial.report.comparison import print_comparison
from tests.report.conftest import Factory

DEEP: dict[str, Any] = {"layers": 12, "placement": "post", "warmup": "0"}


def stuck(make_run: Factory, **changes: Any) -> RunFolder:
    given: dict[str, Any] = {**DEEP, "events": {"plateau": 1}, **changes}
    folder = make_run(norm="ln", placement=given["placement"], layers=given["layers"])
    text = folder.config_text().replace("optim: {", f"optim: {{warmup_steps: {given['warmup']}, ")
    write_text(folder.path / "config.yaml", text)
    folder.write_json("summary.json", (folder.read_summary() or {}) | {"events": given["events"]})
    return folder


def test_deep_post_without_warm_up_gets_advice_at_the_run_and_in_the_comparison(make_run: Factory) -> None:
    """B37: a plateau, and what to try."""
    folder = stuck(make_run)
    told = advice(Run.read(folder))
    assert told is not None
    assert "12 layers" in told
    assert "placement=pre" in told
    assert "warmup_steps" in told
    console = Console(record=True, width=200)
    print_comparison([folder], console=console)
    assert "placement=pre, or leave" in console.export_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": 11},
        {"placement": "pre"},
        {"warmup": "5"},
        {"warmup": "null"},  # a tenth of 200 steps
        {"events": {"spike": 2}},
        {"events": {}},
    ],
    ids=str,
)
def test_everything_else_gets_none(make_run: Factory, changes: dict[str, Any]) -> None:
    assert advice(Run.read(stuck(make_run, **changes))) is None
