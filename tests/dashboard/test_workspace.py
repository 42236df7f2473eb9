"""The workspace names what is logged, and wandb-workspaces reads back what is written."""

import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import wandb
import wandb_workspaces.reports.v2 as wr
import wandb_workspaces.workspaces as ws
from wandb.errors import UsageError
from wandb_workspaces.workspaces import interface, internal

from normtrial.config import Config
from normtrial.dashboard import command
from normtrial.dashboard.workspace import COLUMNS, SITES, STEP, specification, workspace
from normtrial.errors import ConfigError
from normtrial.records import list_runs
from normtrial.report.stored import leaves_of
from normtrial.report.wandb_config import wandb_config
from normtrial.training.metrics import find
from normtrial.training.sinks.mirror import counted, summary_values
from tests.support import ROOT, SOTU


def panels(made: ws.Workspace) -> Iterator[Any]:
    for section in made.sections:
        yield from section.panels


def plots(made: ws.Workspace) -> list[wr.LinePlot]:
    return [panel for panel in panels(made) if isinstance(panel, wr.LinePlot)]


def name_of(metric: Any) -> str:
    """Of a metric as it was given, or as it is read back."""
    return metric if isinstance(metric, str) else metric.name


@pytest.fixture
def made() -> ws.Workspace:
    return workspace("me", "normtrial", "Norms", "val/accuracy")


@pytest.mark.slow
def test_every_panel_names_what_a_real_run_logs(
    made: ws.Workspace, trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    names: set[str] = set()
    for data in ([], SOTU):
        config = trial(*data, "norm=bn", f"store={trial().store}/{len(data)}")
        train(config)
        (folder,) = list_runs(config.store)
        names |= {name for row in folder.read_metrics() for name in row} | set(counted(folder))
        summary = folder.read_summary() or {}
        told = wandb_config(leaves_of(folder.config_text()), summary["data"])
        assert {"arm", *COLUMNS} <= set(told)
        metric = "val/bits_per_char" if data else "val/accuracy"
        assert metric in summary_values(summary)
    assert STEP in names
    for plot in plots(made):
        assert name_of(plot.x) == STEP
        assert plot.groupby in (None, wr.Config("arm"))
        fitting = [name for name in names if plot.metric_regex and re.search(plot.metric_regex, name)]
        shown = [*map(name_of, plot.y), *fitting]
        assert shown, f"{plot.title} is empty"
        for name in shown:
            assert find(name), f"{name} is not in the table of metrics"
            assert name in names, f"{name} is not logged"


@pytest.mark.parametrize(
    "site",
    [
        *("embed", "positions", "embed_norm", "final_norm", "head", "block00.norm1", "block11.norm2"),
        *("block00.attention", "block00.attention.q_norm", "block00.attention.inner_norm", "block00.mlp"),
        *("block00.mlp.inner_norm", "block03.placement"),
    ],
)
def test_a_sites_gradient_norm_is_in_one_panel(site: str) -> None:
    assert sum(bool(re.search(names, f"grad/{site}/norm")) for names in SITES.values()) == 1
    assert not any(re.search(names, "grad/global_norm") for names in SITES.values())


def test_the_package_reads_back_what_a_dry_run_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "here" / "dashboard.json"
    assert command.main(["--dry-run", str(path), "--project", "mine", "--metric", "test/loss_nats"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    spec = internal.WorkspaceViewspec.model_validate_json(path.read_text(encoding="utf-8"))
    view = internal.View(entity="me", project="mine", display_name="Norms", name="", id="", spec=spec)
    back = ws.Workspace._from_model(view)
    wanted = workspace("me", "mine", "Norms", "test/loss_nats")
    assert [section.name for section in back.sections] == [section.name for section in wanted.sections]
    for panel, other in zip(panels(back), panels(wanted), strict=True):
        assert type(panel) is type(other) or isinstance(panel, wr.ParallelCoordinatesPlot)
    for plot, other in zip(plots(back), plots(wanted), strict=True):
        assert [name_of(y) for y in plot.y] == [name_of(y) for y in other.y]
        assert (plot.metric_regex, plot.groupby, plot.log_y) == (other.metric_regex, other.groupby, other.log_y)
        assert (plot.groupby_aggfunc, plot.groupby_rangefunc) == (other.groupby_aggfunc, other.groupby_rangefunc)
    (columns,) = (panel.columns for panel in panels(back) if isinstance(panel, wr.ParallelCoordinatesPlot))
    assert [column.metric for column in columns] == [
        *(wr.Config(name) for name in COLUMNS),
        wr.SummaryMetric("test/loss_nats"),
    ]


def test_a_specification_is_read_without_loss(made: ws.Workspace) -> None:
    text = specification(made)
    spec = internal.WorkspaceViewspec.model_validate_json(text)
    assert spec == made._to_model().spec
    assert spec.model_dump_json(by_alias=True, exclude_none=True, indent=2) == text


def test_keys_with_dots_are_one_key_and_not_nested(made: ws.Workspace) -> None:
    """W&B keeps `norm.eps` as one key, so its value is at `norm.eps.value`."""
    text = specification(made)
    for name in COLUMNS:
        assert f'"accessor": "config:{name}.value"' in text
    assert '"groupBy": "arm.value"' in text


def test_online_it_is_saved_and_the_link_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: list[internal.View] = []
    answered = {"upsertView": {"view": {"name": "nw-abc-v", "id": "1"}}}
    monkeypatch.setattr(wandb, "Api", lambda: SimpleNamespace(default_entity="me"))
    monkeypatch.setattr(interface, "get_app_url", lambda api: "https://app.example")
    monkeypatch.setattr(internal, "upsert_view2", lambda view: sent.append(view) or answered)
    assert command.main(["--project", "mine", "--name", "Norms"]) == 0
    assert capsys.readouterr().out == "https://app.example/me/mine?nw=abc\n"
    assert [(view.entity, view.project, view.display_name) for view in sent] == [("me", "mine", "Norms")]
    assert len(sent[0].spec.section.panel_bank_config.sections) == 5


def test_without_a_login_it_says_so_and_what_else_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise UsageError("No API key configured. Use `wandb login` to log in.")

    monkeypatch.setattr(wandb, "Api", refused)
    with pytest.raises(ConfigError) as raised:
        command.main([])
    assert str(raised.value) == (
        "W&B: No API key configured. Use `wandb login` to log in. "
        "Nothing is saved; --dry-run FILE writes what would be."
    )


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("--dry-run FILE", 0),
        (
            "--metric val/acc",
            "normtrial: --metric 'val/acc' does not exist; did you mean 'val/accuracy'? ",
        ),
        ("sync --store FILE", "normtrial: no run in FILE; say where runs are by --store."),
    ],
)
def test_the_script_answers(typed: str, code: int | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(tmp_path / "file")
    monkeypatch.setattr(sys, "argv", ["dashboard.py", *typed.replace("FILE", file).split()])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "scripts" / "dashboard.py"), run_name="__main__")
    if isinstance(code, str):
        assert str(ended.value.code).startswith(code.replace("FILE", file))
    else:
        assert ended.value.code == code
