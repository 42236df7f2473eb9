"""The same sweep through every launcher that runs here: the same run ids, the same numbers."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hydra.core.config_store import ConfigStore

from normtrial import run
from normtrial.config.multirun import sweeper_of, workers_of
from normtrial.records import list_runs
from tests.support import answer, command, comparable
from tests.sweep.processes import TWO, notes, start_sweep

PACKAGES = {"submitit_local": "hydra_submitit_launcher", "ray": "hydra_ray_launcher"}
PACKAGES["submitit_slurm"] = PACKAGES["submitit_local"]
CORES = {
    "joblib": [TWO],
    "submitit_local": ["hydra.sweeper.max_batch_size=2"],
    "ray": ["+hydra.launcher.ray.init.num_cpus=2"],
}


def installed(launcher: str) -> bool:
    package = PACKAGES.get(launcher)
    return package is None or importlib.util.find_spec(f"hydra_plugins.{package}") is not None


def need(launcher: str) -> None:
    if not installed(launcher):
        pytest.skip(f"{launcher} comes with an extra")


@pytest.fixture(scope="module")
def swept(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The store of four runs that went through a launcher."""
    folder, done = tmp_path_factory.mktemp("launchers"), set[str]()

    def sweep(launcher: str) -> Path:
        store = folder / launcher
        if launcher not in done:
            typed = [f"hydra/launcher={launcher}", *CORES[launcher], "norm=bn,ln", "seed=0,1", "model.dropout=0.3"]
            ended = answer(start_sweep(store, cache, folder / f"{launcher}-sweep", *typed), timeout=400)
            assert ended.code == 0, ended.err
            assert [note["status"] for note in notes(folder / f"{launcher}-sweep")] == ["finished"] * 4
            assert "4/4 done" in ended.err
            done.add(launcher)
        return store

    return sweep


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["submitit_local", "ray"])
def test_runs_and_numbers_are_those_of_joblib(launcher: str, swept: Callable[[str], Path]) -> None:
    need(launcher)
    expected, found = (list_runs(swept(name)) for name in ("joblib", launcher))
    assert len(expected) == 4
    assert [one.run_id for one in found] == [one.run_id for one in expected]
    for one, other in zip(expected, found, strict=True):
        assert comparable(one) == comparable(other)
        summaries = [folder.read_summary() or {} for folder in (one, other)]
        assert summaries[0]["model"] == summaries[1]["model"], "weights, too"


def launcher_of(name: str, *options: str) -> Any:
    with sweeper_of(run.main, [f"hydra/launcher={name}", *options]) as sweeper:
        return sweeper.config.hydra.launcher


@pytest.mark.parametrize("name", ["joblib", "submitit_local", "submitit_slurm", "ray"])
def test_a_preset_is_strict(name: str) -> None:
    need(name)
    assert launcher_of(name)["_target_"].startswith("hydra_plugins.")
    given = command("-m", f"hydra/launcher={name}", "hydra.launcher.n_job=2", "norm=ln")
    assert given.code == 1
    assert "hydra.launcher.n_job" in given.message


def test_how_many_runs_a_launcher_keeps_going(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(8)))
    assert workers_of(launcher_of("basic")) == (1, None)
    assert workers_of(launcher_of("joblib")) == (8, None)
    assert workers_of(launcher_of("joblib", "hydra.launcher.n_jobs=3")) == (3, None)
    assert workers_of(launcher_of("joblib", "hydra.launcher.n_jobs=-2")) == (7, None)
    if installed("submitit_local"):
        assert workers_of(launcher_of("submitit_local")) == (8, 8), "it would begin all at once"
        assert workers_of(launcher_of("submitit_slurm")) == (64, None)
    if installed("ray"):
        assert workers_of(launcher_of("ray")) == (8, None)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher_of("joblib")  # by now every launcher has registered its options
    monkeypatch.setitem(ConfigStore.instance().repo["schema"], "launcher", {})
    given = command("-m", "hydra/launcher=ray", "norm=ln")
    assert given.message == (
        "normtrial: ray comes with a package that is not installed: python -m pip install -e '.[ray]'."
    )
