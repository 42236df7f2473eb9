"""Evaluation under shift: what is evaluated, when, under which name; and that training does not notice."""

import dataclasses
import io
import itertools
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from normtrial.config import Config, compose
from normtrial.errors import ConfigError
from normtrial.records import RunFolder, list_runs
from normtrial.training.metrics import METRICS, Evaluated, evaluated, find
from normtrial.training.sinks.progress import final_table, with_error
from normtrial.training.sinks.shift_table import shift_table
from tests.support import SOTU, comparable

ALL = [
    *("eval.shuffle_words=[0.2,1]", "eval.drop_words=0.1", "eval.max_len=[8,24]", "eval.batch_size=7"),
    *("eval.noise=0.5", "eval.streaming=true", "model.positions=rotary"),
]
ACCURACY = ["accuracy", "accuracy_se"]
DOCUMENTS_ONLY = ["eval.length_buckets=4", "eval.one_class_batches=true"]
NAMES = [
    *("shuffle_words_0.2", "shuffle_words_1", "drop_words_0.1", "max_len_8", "max_len_24", "batch_size_7"),
    *("noise_0.5", "streaming"),
]


def folder_of(config: Config) -> RunFolder:
    (found,) = list_runs(Path(config.store))
    return found


def shifts_in(row: dict[str, float]) -> set[str]:
    return {part.shift for name in row if (part := evaluated(name))}


def unshifted(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if not (part := evaluated(name)) or not part.shift}


@pytest.mark.parametrize("task", ["classification", pytest.param("lm", marks=pytest.mark.slow)])
def test_a_run_under_every_shift(
    task: str, trial: Callable[..., Config], train: Callable[[Config], float | None], tmp_path: Path
) -> None:
    """Each has its row in the table; and without shifts the run is the same in everything else."""
    choices = ["norm=bn", *(SOTU if task == "lm" else DOCUMENTS_ONLY), *ALL]
    config = trial(*choices)
    train(config)
    rows = comparable(folder_of(config))
    names = {name for row in rows for name in row} - {"step", "nonfinite"}
    assert all(sum(metric.matches(name) for metric in METRICS) == 1 for name in names)
    wanted = {"", *NAMES}
    if task == "classification":
        wanted |= {"one_class_batches", *(f"length_{n}of4" for n in range(1, 5))}
    last, middle = rows[-1], next(row for row in rows if row["step"] == 3 and "val/loss_nats" in row)
    assert shifts_in(last) == wanted
    assert shifts_in(middle) == {""}, "at the end only"
    assert {name.replace("test/", "val/") for name in last if name.startswith("test/")} <= names
    for shift in NAMES:
        assert f"test/{shift}/batch_stats/loss_nats" in last
    plain = dataclasses.replace(config, eval=trial().eval, store=str(tmp_path / "plain"))
    train(plain)
    assert comparable(folder_of(plain)) == [unshifted(row) for row in rows]


def test_a_shift_changes_what_it_should_and_nothing_that_it_should_not(
    trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    config = trial("norm=bn", *ALL, *DOCUMENTS_ONLY)
    train(config)
    last = comparable(folder_of(config))[-1]

    def loss(shift: str, statistics: str = "") -> float:
        return last[Evaluated("test", shift, statistics, "loss_nats").name]

    for shift in ("batch_size_7", "streaming", "one_class_batches"):
        assert loss(shift) == pytest.approx(loss(""), rel=1e-5), "running statistics know no batch"
        assert loss(shift, "/batch_stats") != pytest.approx(loss("", "/batch_stats"), rel=1e-4)
    for shift in ("shuffle_words_0.2", "shuffle_words_1", "drop_words_0.1", "max_len_8", "noise_0.5"):
        assert loss(shift) != pytest.approx(loss(""), rel=1e-5)
    buckets = [loss(f"length_{n}of4") for n in range(1, 5)]
    assert sum(buckets) / 4 == pytest.approx(loss("")), "quarters of the very same predictions"
    assert len(set(buckets)) == 4


def test_always_is_at_every_evaluation(
    trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    config = trial("norm=ln", "eval.batch_size=2", "eval.when=always")
    train(config)
    rows = [row for row in comparable(folder_of(config)) if "val/loss_nats" in row]
    assert [row["step"] for row in rows] == [3, 6]
    assert all("val/batch_size_2/loss_nats" in row for row in rows)


@pytest.mark.parametrize("positions", ["rotary", pytest.param("sinusoidal", marks=pytest.mark.slow)])
def test_training_goes_on_after_longer_texts(
    positions: str, trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    """Tables of positions grow; they are no state that a step could have to give back."""
    config = trial("norm=bn", f"model.positions={positions}", "eval.max_len=48", "eval.when=always")
    train(config)
    summary = folder_of(config).read_summary()
    assert summary is not None
    assert summary["status"] == "finished"


def test_one_number_and_a_list_of_it_are_one_run() -> None:
    one, many = (compose(f"eval.noise={given}", f"eval.batch_size={given}").eval for given in ("1", "[1]"))
    assert one == many
    assert one.noise == [1.0]
    assert [shift.name for shift in one.shifts()] == ["batch_size_1", "noise_1"]
    assert compose("eval.noise=null").eval.noise == compose().eval.noise == []
    assert compose().eval.shifts() == []


def test_names_are_told_apart_and_put_together_again() -> None:
    for shift in ("", *NAMES, "noise_1e-05", "length_1of12", "one_class_batches"):
        for statistics in ("", "/batch_stats"):
            part = Evaluated("val", shift, statistics, "accuracy")
            assert evaluated(part.name) == part
            assert (metric := find(part.name)) is not None
            assert metric.pattern == "<split>/accuracy"
    assert evaluated("val/noises_1/accuracy") is None
    assert find("val/noises_1/accuracy") is None
    assert find("val/batch_stats/noise_1/accuracy") is None


def test_the_table_has_a_line_for_each_shift_and_fits_a_terminal() -> None:
    kinds = itertools.product(["val", "test"], ["", *NAMES], ["", "/batch_stats"], ["loss_nats", *ACCURACY])
    metrics = {Evaluated(*parts).name: 0.123456 for parts in kinds}
    table = shift_table(metrics, with_error)
    assert table is not None
    assert table.row_count == 2 * (1 + len(NAMES))
    lines = rendered(table)
    assert not any("…" in line for line in lines)
    assert any("shuffle_words_0.2/batch_stats" in line and "0.123 ± 0.123" in line for line in lines)
    assert shift_table({"val/loss_nats": 1.0}, with_error) is None
    summary = {"name": "n", "status": "finished", "run_id": "r", "steps": 1, "seconds": 1.0, "metrics": metrics}
    text = "\n".join(rendered(final_table(summary)))
    assert text.count("val/") == 4, "loss and accuracy by both statistics: shifts have a table of their own"


def rendered(table: RenderableType) -> list[str]:
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get().splitlines()


def test_a_split_too_small_for_a_shift_is_refused_before_training(
    trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    with pytest.raises(ConfigError, match=r"eval.length_buckets=17 is more than the val split of data=bbc holds"):
        train(trial("eval.length_buckets=17"))
    long = "eval.max_len=10000000"
    with pytest.raises(ConfigError, match=r"val split of data=sotu has no example left under max_len_10000000"):
        train(trial(*SOTU, "model.positions=rotary", long))


def test_a_shift_is_one_thing() -> None:
    for shift in compose(*ALL, *DOCUMENTS_ONLY).eval.shifts():
        changed = [getattr(shift.view, field.name) for field in dataclasses.fields(shift.view)]
        assert sum(value not in (None, False) for value in changed) + (shift.noise > 0) == 1
