"""A sweep of four jobs, one of which crashes and one diverges, as W&B's own reader finds it on disk."""

from pathlib import Path
from typing import Any

import pytest
import torch

from normtrial import run
from normtrial.config import stored
from normtrial.records import RunFolder
from normtrial.report.stored import leaves_of
from tests.support import TINY, command, wandb_records, wandb_summary
from tests.sweep.processes import notes

CRASHES, DIVERGES = 1, 2  # seeds


def faulty(step: Any) -> Any:
    """Steps as they are, but for the third of two seeds."""

    def taken(loop: run.Loop, number: int) -> str | None:
        if number == 3 and loop.s.seed == CRASHES:
            raise KeyError("planted")
        if number == 3 and loop.s.seed == DIVERGES:
            with torch.no_grad():
                next(loop.s.model.parameters()).fill_(torch.nan)
        return step(loop, number)

    return taken


@pytest.mark.slow
def test_four_runs_with_their_ids_group_configuration_summary_and_exit(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B53: what became of a job is in its own records, W&B's too."""
    store, sweep = tmp_path / "store", tmp_path / "four"
    monkeypatch.setattr(run.Loop, "_step", faulty(run.Loop._step))
    monkeypatch.setattr(run, "draw_curves", lambda folder: None)
    places = (f"cache={cache}", f"store={store}", f"hydra.sweep.dir={sweep}")
    ended = command("-m", *TINY, *places, "log=wandb", "hydra/launcher=basic", "norm=bn", "seed=0,1,2,3")
    assert ended.code == 1
    jobs = notes(sweep)
    assert [job["status"] for job in jobs] == ["finished", "crashed", "diverged", "finished"]
    shown = [wandb_summary(store / job["run_id"]) for job in jobs]
    assert [one["run_id"] for one in shown] == [job["run_id"] for job in jobs]
    assert len({one["run_id"] for one in shown}) == 4
    assert [one["summary"]["status"] for one in shown] == [job["status"] for job in jobs]
    assert [one["exit_code"] for one in shown] == [0, 1, 0, 0], "a divergence is a result"
    assert shown[1]["summary"]["reason"] == "KeyError: 'planted'"
    assert shown[2]["summary"]["reason"] == "nonfinite_loss"
    for job, one in zip(jobs, shown, strict=True):
        folder = RunFolder(store / job["run_id"])
        kept = leaves_of(folder.config_text())
        assert kept.items() <= one["config"].items()
        assert one["config"]["arm"] == "bn pre"
        assert one["config"]["seed"] == stored(folder.config_text()).seed == job["number"]
        summary = folder.read_summary() or {}
        sent = {name: value for name, value in summary["metrics"].items() if isinstance(value, int | float)}
        assert sent.items() <= one["summary"].items()
        (told,) = wandb_records(folder.path)["run"]
        assert (told["run_group"], told["project"]) == ("four", kept["log.project"])
