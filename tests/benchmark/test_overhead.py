"""The benchmark measures real loops, and sees what something costs."""

import json
import time
from pathlib import Path

import pytest

from normtrial.benchmark import overhead
from normtrial.benchmark.overhead import INSTRUMENTS, measure
from normtrial.benchmark.pairs import Comparison
from normtrial.benchmark.results import Results, keep
from normtrial.training.loop import Loop
from tests.support import TINY


def costing(monkeypatch: pytest.MonkeyPatch, name: str, instrument: overhead.Instrument) -> str:
    monkeypatch.setitem(INSTRUMENTS, name, [instrument])
    monkeypatch.setitem(overhead.INDEX, name, 99)
    return name


@pytest.mark.slow
def test_a_slower_side_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    def slow(loop: Loop, folder: Path, config: object) -> None:
        measured = loop.s.probes.measure

        def slowly() -> None:
            time.sleep(0.2)
            measured()

        monkeypatch.setattr(loop.s.probes, "measure", slowly)

    name = costing(monkeypatch, "slow", slow)
    found = measure(name, tmp_path, num_pairs=2, num_steps=2, clock=time.perf_counter, overrides=given(cache))
    assert len(found.ratios) == 2
    assert found.median > 1.5


@pytest.mark.slow
@pytest.mark.parametrize("name", list(INSTRUMENTS))
def test_every_instrument_is_measured(name: str, tmp_path: Path, cache: Path) -> None:
    found = measure(name, tmp_path, num_pairs=2, num_steps=5, clock=time.perf_counter, overrides=given(cache))
    assert all(ratio > 0 for ratio in found.ratios)
    rows = [path for path in tmp_path.glob("*/metrics.jsonl") if path.read_text("utf-8")]
    assert len(rows) == 2, "both sides are real loops"


def given(cache: Path) -> list[str]:
    return [*TINY[1:], "norm=bn", f"cache={cache}"]


def test_figures_are_kept(tmp_path: Path) -> None:
    keep(Results("Cost", "of a step", [Comparison("a", [1.0, 1.1, 1.2])]), tmp_path, "cost", "python …")
    kept = json.loads((tmp_path / "cost.json").read_text("utf-8"))
    assert kept["comparisons"]["a"]["median"] == 1.1
    assert kept["machine"]["threads"] >= 1
    assert kept["machine"]["gemm_gflops"] > 0 and kept["machine"]["copy_gb_per_s"] > 0
    assert (tmp_path / "cost.png").stat().st_size > 1000
