import io
import subprocess
import sys

from rich.console import Console

from normtrial.report.comparison import print_comparison
from normtrial.report.figures.overlay import draw_overlay


def text_of(runs, width=80) -> str:
    stream = io.StringIO()
    print_comparison(runs, console=Console(file=stream, width=width))
    return stream.getvalue()


def test_table_has_a_row_an_arm_best_first_and_hides_no_run(make_run):
    runs = [make_run(f"bn{seed}", seed=seed, final=0.6) for seed in (0, 1)]
    runs += [make_run("ln0", norm="ln", final=0.9), make_run("ln1", norm="ln", seed=1, status="crashed")]
    runs += [make_run("rms0", norm="rms", status="diverged", die_at=50)]
    text = text_of(runs)
    lines = [line.split() for line in text.splitlines()]
    rows = [line for line in lines if line and line[0] in ("bn", "ln", "rms")]
    assert [row[0] for row in rows] == ["ln", "bn", "rms"]
    assert rows[0][1:6] == ["1", "of", "2", "0.900", "±"]
    assert rows[1][1:5] == ["2", "0.600", "±", "0"]
    assert rows[2][-3:] == ["1", "312k", "12.3k"]
    assert "diverged runs count as 0" in text
    assert "1 crashed, not in the mean" in text
    assert "trivial predictor: 0.230" in text


def test_the_baseline_stands_below_where_all_arms_share_one(make_run):
    runs = [make_run(norm, norm=norm) for norm in ("bn", "ln")]
    for value, said in ((0.97, True), (None, False)):
        for run in runs:
            metrics = {"val/accuracy": value} if value else {"val/bits_per_char": 2.0}
            data = {"baseline": {"model": "TF-IDF + logistic regression", "metrics": metrics}}
            run.write_json("summary.json", {**(run.read_summary() or {}), "data": data})
        assert ("TF-IDF + logistic regression: 0.970" in text_of(runs)) is said
        assert "trivial predictor: 0.230" in text_of(runs)
    summary = runs[0].read_summary() or {}
    runs[0].write_json(
        "summary.json", {**summary, "data": {"baseline": {"model": "another", "metrics": {"val/accuracy": 1}}}}
    )
    assert "another" not in text_of(runs), "the arms saw different text"


def test_an_arm_with_a_diverged_run_has_no_mean_loss(make_run):
    """B49: nor over the seeds that did."""
    runs = [make_run("a", task="lm"), make_run("b", task="lm", seed=1, status="diverged", die_at=90)]
    text = text_of(runs)
    assert "failed" in text
    assert "diverged runs count as failed" in text


def test_two_tasks_give_two_tables_and_no_runs_give_a_word(make_run):
    text = text_of([make_run("a"), make_run("b", task="lm", norm="ln")])
    assert "val/accuracy" in text
    assert "val/loss_nats" in text
    assert "No runs" in text_of([])


def test_table_fits_eighty_columns_and_folds_long_names(make_run):
    runs = [
        make_run(f"r{lr}{layers}", lr=lr, layers=layers, norm=norm)
        for lr in ("1e-3", "12345e-8")
        for layers in (2, 4)
        for norm in ("bn", "ln")
    ]
    assert max(map(len, text_of(runs).splitlines())) <= 80


def test_overlay_draws_arms_with_diverged_and_empty_runs(make_run, tmp_path):
    runs = [make_run("a"), make_run("b", seed=1), make_run("c", norm="ln", status="diverged", die_at=90)]
    runs += [make_run("d", norm="rms", status="diverged", die_at=10), make_run("e", norm="ada", ended=False)]
    runs[-1].metrics_path.write_text("")
    path = draw_overlay(runs, tmp_path / "sweep" / "overlay.png")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_reporting_imports_neither_torch_nor_matplotlib():
    code = (
        "import sys, normtrial.report.comparison\n"
        "from normtrial.report.figures import curves, overlay\n"
        "from normtrial.report.page import build\n"
        "from normtrial.report.table import formats\n"
        "from normtrial.claims.trials import kept\n"
        "assert not {'torch', 'matplotlib', 'wandb'} & set(sys.modules), 'imported too early'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
