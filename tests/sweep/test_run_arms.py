"""Runs that code asks for go the way of any sweep."""

from pathlib import Path

import pytest

from normtrial.errors import ConfigError
from normtrial.records import list_runs
from normtrial.sweep import run_arms
from tests.support import TINY, command
from tests.sweep.processes import notes


def test_an_entry_an_arm_in_their_order_and_a_run_once(cache: Path, tmp_path: Path) -> None:
    common = [*TINY, f"cache={cache}", f"store={tmp_path / 'store'}"]
    arms = [["norm=ln", "seed=1"], ["norm=rms"], ["norm=ln", "seed=1", "device=cpu"]]
    entries = run_arms(arms, common=common, launcher="basic", folder=tmp_path / "sweep")
    assert [entry.status for entry in entries] == ["finished"] * 3
    assert [entry.name for entry in entries] == ["ln-pre-s1", "rms-pre-s0", "ln-pre-s1"]
    assert entries[0] is entries[2]
    assert {entry.folder.path for entry in entries} == {run.path for run in list_runs(tmp_path / "store")}
    assert [note["status"] for note in notes(tmp_path / "sweep")] == ["finished", "finished"]
    assert "finished" in entries[0].folder.log_path.read_text(encoding="utf-8")

    again = run_arms(arms, common=common, launcher="basic", folder=tmp_path / "again")
    assert [entry.status for entry in again] == ["finished"] * 3
    assert notes(tmp_path / "again") == []


def test_a_mistake_in_one_begins_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"norm\.eps=0\.0 must lie"):
        run_arms([["norm=ln"], ["norm=ln", "norm.eps=0"]], common=[f"store={tmp_path}"], launcher="basic")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_arms_prints_the_plan_and_trains_nothing(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, folder = tmp_path / "store", tmp_path / "sweep"
    typed = [*TINY, f"cache={cache}", f"store={store}", f"hydra.sweep.dir={folder}", "experiment=padding"]
    given = command("-m", *typed, "seed=0,1", "sweep.dry_run=true")
    assert (given.code, given.message) == (0, "")
    said = " ".join(capsys.readouterr().out.split())
    assert "8 to do ln-pre-s0, bn-pre-s0, bn-pre-s0, bn-pre-s0, ln-pre-s1, " in said
    assert "How long it takes is unknown" in said
    assert not store.exists()
    assert not folder.exists()
