"""Two hundred finished runs are made of a few that were trained; a sweep takes them for its own."""

from pathlib import Path

import pytest

from normtrial.benchmark import sweeps
from normtrial.benchmark.sweeps import draw, pretend
from normtrial.report.figures.style import new_figure
from normtrial.sweep import run_arms
from tests.support import TINY
from tests.sweep.processes import notes


@pytest.mark.slow
def test_a_pretended_run_is_found_finished(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweeps, "NORMS", ("ln", "bn"))
    common = [*TINY, f"cache={cache}"]
    trained, many = tmp_path / "trained", tmp_path / "many"
    run_arms(
        [["norm=ln"], ["norm=bn"]], common=[*common, f"store={trained}"], launcher="basic", folder=tmp_path / "a"
    )
    pretend([*common, f"store={many}"], trained, many)
    jobs = [["norm=bn", "optim.lr=3e-3", f"seed={seed}"] for seed in range(10)]
    entries = run_arms(jobs, common=[*common, f"store={many}"], launcher="basic", folder=tmp_path / "b")
    assert {entry.status for entry in entries} == {"finished"}
    assert len({entry.folder.run_id for entry in entries}) == 10
    assert notes(tmp_path / "b") == []


def test_the_figure_has_a_bar_a_way() -> None:
    figure = new_figure(7.5, 4)
    draw(figure, "title", {"shell loop": [40.0, 42.0], "sweep": [20.0, 21.0]})
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [20.5, 41.0]
