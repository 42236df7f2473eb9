"""Every arm's own learning rate, by a search that costs each the same and finds its finished runs again."""

import importlib.util
import re
from pathlib import Path

import pytest

from normtrial.records import list_runs
from normtrial.report.arms import Run
from tests.support import answer, command
from tests.sweep.processes import TWO, notes, start_sweep

need_optuna = pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="optuna comes with an extra")
SEARCH = ["hydra/sweeper=tune_lr", "hydra.sweeper.n_trials=4", "hydra.sweeper.n_jobs=2", TWO]


@need_optuna
@pytest.mark.slow
def test_each_arm_has_the_same_budget_and_its_best_is_named(cache: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    typed = [*SEARCH, "norm=bn,ln"]
    ended = answer(start_sweep(store, cache, tmp_path / "search", *typed), timeout=400)
    assert ended.code == 0, ended.err
    runs = [Run.read(folder) for folder in list_runs(store)]
    rates = {norm: [r.config["optim.lr"] for r in runs if r.config["norm.name"] == norm] for norm in ("bn", "ln")}
    assert len(rates["bn"]) == len(rates["ln"]) == 4
    assert sorted(rates["bn"])[:1] == sorted(rates["ln"])[:1], "both begin with the same draws"
    assert all(1e-4 <= rate <= 3e-2 for found in rates.values() for rate in found)
    for norm in ("bn", "ln"):
        (line,) = re.findall(rf"^norm={norm} .*$", ended.out, flags=re.MULTILINE)
        _, rate, metric, value, num = line.split()
        mine = [r for r in runs if r.config["norm.name"] == norm]
        best = max((r.summary or {})["metrics"]["val/accuracy"] for r in mine)
        assert (metric, num) == ("val/accuracy", "4")
        assert float(value) == pytest.approx(best, rel=1e-3)
        reached = [r.config["optim.lr"] for r in mine if (r.summary or {})["metrics"]["val/accuracy"] == best]
        assert any(float(rate) == pytest.approx(one, rel=1e-2) for one in reached)

    again = answer(start_sweep(store, cache, tmp_path / "again", *typed), timeout=400)
    assert again.code == 0, again.err
    assert notes(tmp_path / "again") == [], "nothing is trained twice"
    assert again.out.splitlines()[1:] == ended.out.splitlines()[1:]


@need_optuna
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Optuna's, about its own storage
def test_what_the_search_varies_is_not_fixed(cache: Path, tmp_path: Path) -> None:
    given = command("-m", *SEARCH, "norm=ln", "optim.lr=1e-3", f"cache={cache}", f"store={tmp_path}")
    assert given.message.startswith("normtrial: optim.lr=0.001 leaves nothing to search for; optim.lr is what ")
