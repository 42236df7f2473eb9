from pathlib import Path

from normtrial.records import JsonLines, RunFolder, write_text
from normtrial.report.figures.curves import draw_curves


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 5000


def test_curves_of_runs_of_all_kinds(make_run):
    finished = make_run("finished", seed=1)
    diverged = make_run("diverged", status="diverged", die_at=90, norm="ln", layers=2)
    language = make_run("language", norm="rms", task="lm", layers=1, ended=False)
    for folder in (finished, diverged, language):
        assert is_png(draw_curves(folder))
        assert not list(folder.path.glob(".curves*")), "a temporary file is left"


def test_curves_of_a_run_with_one_row_and_of_one_with_none(tmp_path):
    for name, rows in {
        "single": [{"step": 0, "train/loss_nats": 1.5, "grad/head/norm": 0.0}],
        "nulls": [{"step": 5, "train/loss_nats": float("nan"), "val/loss_nats": float("inf")}],
        "empty": [],
    }.items():
        folder = RunFolder(tmp_path / name)
        write_text(folder.path / "config.yaml", "seed: 0\n")
        lines = JsonLines(folder.metrics_path)
        for row in rows:
            lines.append(row)
        lines.close()
        assert is_png(draw_curves(folder))


def test_an_explosion_does_not_flatten_the_rest():
    from normtrial.report.figures.style import new_figure, zoom

    axes = new_figure(3, 2).subplots()
    axes.plot([1, 2, 3], [1.5, 1.0, 1e9])
    zoom(axes, [1.5, 1.0, 1e9], 1.6)
    assert axes.get_ylim()[1] < 10
