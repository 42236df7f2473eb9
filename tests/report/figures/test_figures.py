"""What figures of the page compute before they draw."""

import math

import pytest

from normtrial.report.arms import group
from normtrial.report.figures.cells import difference_maps, maps, paddings, sizes
from normtrial.report.figures.gap import evaluation_gap, gap_of
from normtrial.report.figures.heat import MOST_STEPS, gradient_map, in_order, thinned
from normtrial.report.figures.overlay import learning_curves, read_metrics
from normtrial.report.figures.rates import by_rate
from normtrial.report.figures.timeline import BINS, events_of, timeline
from normtrial.report.outcome import Outcome
from normtrial.report.page.build import compare
from normtrial.report.rates import families
from normtrial.report.selection import select

ACCURACY, LOSS = Outcome("val/accuracy", "max"), Outcome("val/loss_nats", "min")


def test_a_gradient_map_is_the_mean_of_logarithms_and_shows_what_is_not_finite(make_run) -> None:
    arm = group([make_run("a", layers=1), make_run("b", layers=1, seed=1, die_at=100)])[0]
    found = gradient_map(arm, read_metrics)
    norms = [row["grad/embed/norm"] for run in arm.runs for row in read_metrics(run) if row["step"] == 10][:2]
    assert found["embed"][10] == pytest.approx(math.log10(math.prod(norms)) / 2)
    assert math.isnan(found["embed"][100]), "one of them was not finite"
    assert math.isnan(found["embed"][110]), "one of them had ended"
    assert list(found["embed"]) == list(range(10, 201, 10))
    assert in_order(found)[:3] == ["embed", "block00.norm1", "block00.attention"]
    assert in_order(found)[-2:] == ["final_norm", "head"]


def test_long_runs_are_thinned_to_both_ends() -> None:
    steps = thinned(list(range(0, 1000, 2)))
    assert (len(steps), steps[0], steps[-1]) == (MOST_STEPS, 0, 998)


def test_the_gap_is_running_minus_batch_statistics(make_run) -> None:
    rows = read_metrics(group([make_run("a")])[0].runs[0])
    steps, values = gap_of(rows, ACCURACY)
    assert steps == [40, 80, 120, 160, 200]
    assert values[-1] == pytest.approx(0.8 - 0.8 * 200 / 190)
    assert evaluation_gap(group([make_run("b", norm="ln")]), ACCURACY, read_metrics) is None


def test_events_are_a_line_an_arm_with_one_mark_a_place(make_run) -> None:
    runs = [make_run("a", seed=1), make_run("b", norm="ln", status="diverged", die_at=50)]
    runs += [make_run("c", norm="rms")]
    found = events_of(group(runs))
    assert [(arm.name, kinds) for arm, kinds in found] == [
        ("bn", {"spike": [70]}),
        ("ln", {"nonfinite_loss": [50]}),
    ]
    crowded = [(found[0][0], {"spike": list(range(1, 201)) * 50})]
    marks = timeline(crowded).axes[0].lines[-1].get_xdata()
    assert len(marks) <= BINS


def words_at(figure, x: int, y: int) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts if tuple(map(round, text.get_position())) == (x, y)]


def test_a_map_has_a_cell_for_each_batch_size_and_padding(make_run) -> None:
    for norm, final in (("bn", 0.6), ("ln", 0.7)):
        for batch_size in (4, 8):
            for max_len in (256, 512):
                run_id = f"{norm}{batch_size}{max_len}"
                make_run(run_id, norm=norm, batch_size=batch_size, max_len=max_len, final=final)
    rows = compare(select([], make_run.store)).rows
    found = maps(rows)
    assert list(found) == ["bn"]
    assert sizes(found["bn"]) == [4, 8]
    assert list(paddings(found["bn"])) == ["data.max_len=512", "data.max_len=256"]
    assert {round(row.difference.estimate, 6) for row in found["bn"]} == {-0.1}
    figure = difference_maps(rows, ACCURACY)
    assert words_at(figure, 0, 0) == ["-0.100", "13% padding"]
    assert words_at(figure, 1, 1) == ["-0.100", "6% padding"]
    assert difference_maps([row for row in rows if row.arm.config["data.batch_size"] == 4], ACCURACY) is None


@pytest.mark.parametrize(
    ("outcome", "task", "final"), [(ACCURACY, "classification", 0.5), (LOSS, "lm", 0.9)], ids=["max", "min"]
)
def test_worse_is_orange_whichever_way_the_metric_runs(make_run, outcome, task: str, final: float) -> None:
    for norm in ("bn", "ln"):
        for batch_size in (4, 8):
            for max_len in (256, 512):
                worse = norm == "bn" and batch_size == 4
                run_id = f"{norm}{batch_size}{max_len}"
                make_run(
                    run_id,
                    norm=norm,
                    task=task,
                    batch_size=batch_size,
                    max_len=max_len,
                    final=final if worse else 0.7,
                )
    figure = difference_maps(compare(select([], make_run.store)).rows, outcome)
    cells = {round(patch.get_x() + 0.48): patch.get_facecolor() for patch in figure.axes[0].patches}
    value = float(words_at(figure, 0, 0)[0])
    assert value > 0 if outcome.direction == "min" else value < 0
    red, _, blue, _ = cells[0]
    assert red > blue, "batch size 4 lost"


def test_curves_end_where_a_seed_diverges_and_lines_differ_in_grey(make_run) -> None:
    runs = [make_run("a"), make_run("b", seed=1, status="diverged", die_at=90), make_run("c", norm="ln")]
    axes = learning_curves(group(runs), {"val/loss_nats": "Loss"}).axes[0]
    mean, *_ = axes.lines
    assert list(mean.get_xdata()) == [40, 80]
    crosses = [line for line in axes.lines if line.get_marker() == "X" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in crosses] == [[80]]
    looks = {
        (line.get_linestyle(), line.get_marker()) for line in axes.lines if line.get_label().startswith("_child")
    }
    assert len(looks) >= 2


def test_a_rate_at_which_a_run_diverged_is_a_cross(make_run) -> None:
    runs = [make_run(lr, task="lm", lr=lr) for lr in ("1e-3", "3e-3")]
    runs += [make_run("d", task="lm", lr="1e-2", status="diverged", die_at=90)]
    axes = by_rate(families(group(runs)), LOSS).axes[0]
    assert [list(line.get_xdata()) for line in axes.lines if line.get_marker() == "X"] == [[0.01]]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001", "0.003", "0.01"]
