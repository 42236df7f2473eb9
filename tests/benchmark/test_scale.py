"""What grows is measured, and how fast."""

import math
import time
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from normtrial.benchmark import scale
from normtrial.benchmark.scale.axes import AXES, Axis
from normtrial.benchmark.scale.fit import fit
from normtrial.benchmark.scale.steps import made_up, step
from normtrial.benchmark.scale.store import fill
from normtrial.config import compose
from normtrial.errors import ConfigError
from normtrial.records import list_runs, read_json_lines
from normtrial.report.arms import group
from normtrial.report.comparison import print_comparison

SIZES = [4, 8, 16, 32, 64]


def test_a_planted_exponent_is_found() -> None:
    rounds = [[0.5 + 3 * size**1.7 * (1 + noise) for noise in (-0.01, 0, 0.01)] for size in SIZES]
    found = fit(SIZES, rounds)
    assert found.exponent == pytest.approx(1.7, abs=0.02)
    assert 0 < found.error < 0.02
    assert found.smallest == 16
    assert found.at(64) == pytest.approx(3 * 64**1.7, rel=0.02)


def test_fixed_costs_at_small_sizes_do_not_count() -> None:
    planted = [[100.0], [100.0], *([float(size**2)] for size in SIZES[2:])]
    assert fit(SIZES, planted).exponent == pytest.approx(2)


def test_a_linear_axis_is_seen_as_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(AXES, "toy", Axis("sleep", "naps", 4, lambda size, place: lambda: time.sleep(size / 500)))
    given = SimpleNamespace(only=["toy"], sizes=4, cache=tmp_path, pairs=2, cpu_time=False)
    results = scale.run(given)  # type: ignore[arg-type]
    toy = results.more["axes"]["toy"]
    assert toy["sizes"] == [4, 8, 16, 32]
    assert toy["exponent"] == pytest.approx(1, abs=0.2)
    assert [len(times) for times in toy["seconds"]] == [2] * 4


def test_a_step_has_the_size_that_was_asked_for(tmp_path: Path) -> None:
    with ExitStack() as stack:
        sizes = ("model.num_layers=1", "data.batch_size=2", "data.max_len=8", "data.vocab_size=512")
        step(tmp_path, stack, *sizes)()
    (row,) = read_json_lines(tmp_path / "metrics.jsonl")
    assert row["train/loss_nats"] == pytest.approx(math.log(512), abs=1)
    batch = made_up(compose("data=sotu", "data.batch_size=2", "data.max_len=8", "data.vocab_size=512").data)
    assert batch.train_batch(0, seed=0).tokens_BL.shape == (2, 8)


@pytest.mark.parametrize(
    ("only", "sizes", "message"),
    [(["deep"], 5, "did you mean 'depth'"), (None, 3, "--sizes=3 must be at least 4")],
)
def test_what_cannot_be_measured_is_refused(only: list[str] | None, sizes: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        scale.run(SimpleNamespace(only=only, sizes=sizes))  # type: ignore[arg-type]


@pytest.mark.slow
def test_two_thousand_runs_are_compared_in_seconds(tmp_path: Path, cache: Path) -> None:
    fill(tmp_path / "runs", 2000, cache)
    folders = list_runs(tmp_path / "runs")
    arms = group(folders)
    assert (len(folders), len(arms), len({arm.name for arm in arms})) == (2000, 400, 400)
    began = time.process_time()
    print_comparison(folders)
    assert time.process_time() - began < 3, "0.7 s here; parsing every file and naming arm by arm took 94 s"
