import io
import math

import pytest
from rich.console import Console

from normtrial.errors import ConfigError
from normtrial.records import RunFolder
from normtrial.training.sinks.progress import ProgressSink, final_table
from normtrial.training.sinks.record import FileLogConfig, RecordSink, Sinks, WandbLogConfig

SUMMARY = {
    "run_id": "abc123", "name": "bn-pre-s0", "status": "diverged", "reason": "non-finite loss", "steps": 40,
    "seconds": 75.0, "best": {"val/accuracy": [0.61, 20]}, "trivial": {"loss_nats": 1.57, "accuracy": 0.23},
    "metrics": {
        "train/loss_nats": None, "val/loss_nats": 1.25, "val/loss_nats_se": 0.02, "val/accuracy": 0.6,
        "val/accuracy_se": 0.03, "val/batch_stats/accuracy": 0.65, "grad/head/norm": 1.0,
    },
    "events": {"nonfinite_loss": 1}, "model": {"parameters": 312_000},
}  # fmt: skip


def training_row(step: int) -> dict:
    return {
        "step": step, "train/loss_nats": 1.5 / (step + 1), "optim/lr": 3e-4, "grad/global_norm": 1.25,
        "throughput/tokens_per_s": 12_345.0,
    }  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_record_sink_writes_rows_and_events_and_resumes_at_its_offsets(tmp_path):
    folder = RunFolder(tmp_path / "run")
    sink = RecordSink(folder)
    sink.row({"step": 1, "train/loss_nats": math.nan})
    sink.event({"step": 1, "kind": "nonfinite_loss", "site": None, "detail": {}})
    offsets = sink.offsets()
    sink.row({"step": 2, "train/loss_nats": 1.0})
    sink.finish({})
    resumed = RecordSink(folder, offsets)
    resumed.row({"step": 2, "train/loss_nats": 2.0})
    resumed.finish({})
    flagged = {"step": 1, "train/loss_nats": None, "nonfinite": {"train/loss_nats": "nan"}}
    assert folder.read_metrics() == [flagged, {"step": 2, "train/loss_nats": 2.0}]
    assert len(folder.read_events()) == 1
    RecordSink(folder).finish({})
    assert folder.read_metrics() == [], "a fresh run starts with empty files"


def test_sinks_tell_every_sink_in_order():
    calls = []

    class Spy:
        def __init__(self, name: str):
            self.name = name

        def row(self, row: dict) -> None:
            calls.append((self.name, "row", row["step"]))

        def event(self, event: dict) -> None:
            calls.append((self.name, "event", event["step"]))

        def finish(self, summary: dict) -> None:
            calls.append((self.name, "finish", summary["status"]))

    sinks = Sinks([Spy("a"), Spy("b")])
    sinks.row({"step": 1})
    sinks.event({"step": 2})
    sinks.finish({"status": "finished"})
    kinds = [("row", 1), ("event", 2), ("finish", "finished")]
    assert calls == [(name, *kind) for kind in kinds for name in "ab"]


def test_log_config_refuses_what_cannot_work():
    FileLogConfig().check()
    WandbLogConfig(mode="offline", project="p", group=None, tags=[]).check()
    for mode, message in {"ofline": "did you mean 'offline'", "disabled": "log=file"}.items():
        with pytest.raises(ConfigError, match=message):
            WandbLogConfig(mode=mode, project="p", group=None, tags=[]).check()
    with pytest.raises(ConfigError, match="project"):
        WandbLogConfig(mode="online", project=" ", group=None, tags=[]).check()


def test_plain_lines_are_few_and_keep_every_evaluation(capsys):
    stream = io.StringIO()
    sink = ProgressSink(1000, "bn-pre-s0", about="bbc: 1,500 train", stream=stream)
    for step in range(1, 1001):
        sink.row(training_row(step))
        if step % 500 == 0:
            sink.row({"step": step, "val/loss_nats": 1.25, "val/loss_nats_se": 0.02})
    sink.event({"step": 1000, "kind": "nonfinite_loss", "site": "block00.norm1", "detail": {}})
    sink.finish(SUMMARY)
    lines = stream.getvalue().splitlines()
    assert 15 <= sum("tok/s" in line for line in lines) <= 22
    assert sum("val  loss 1.250 ± 0.020" in line for line in lines) == 2
    assert "1000/1000  non-finite loss at block00.norm1" in lines[-1]
    assert max(map(len, lines)) <= 80
    assert "1000/1000  loss" in "".join(lines), "the last step is always shown"
    table = capsys.readouterr().out
    assert "bbc: 1,500 train" in table
    assert "\x1b" not in table, "no colours into a pipe"


def test_bar_on_a_terminal_shows_the_numbers(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream = Terminal()
    sink = ProgressSink(40, "bn-pre-s0", start_step=10, stream=stream)
    for step in range(11, 41):
        sink.row(training_row(step))
    sink.row({"step": 40, "val/accuracy": 0.5})
    sink.finish(SUMMARY)
    drawn = stream.getvalue()
    for part in ("40/40", "loss 0.037", "lr 3.0e-04", "grad 1.2", "12.3k tok/s", "left", "accuracy 0.500"):
        assert part in drawn


def test_final_table_stands_values_beside_the_trivial_predictor():
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(final_table(SUMMARY, about="bbc: 1,500 train"))
    text = console.export_text()
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert rows["val/accuracy"] == ["0.600", "±", "0.030", "0.610", "(20)", "0.230"]
    assert rows["val/batch_stats/accuracy"] == ["0.650", "0.230"]
    assert rows["train/loss_nats"] == ["nan"], "the trivial predictor's values are those on validation"
    assert "grad/head/norm" not in rows
    assert "diverged: non-finite loss" in text
    assert "1 × non-finite loss" in text
    assert "baseline" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_final_table_has_the_baseline_where_it_was_measured():
    reached = {"model": "TF-IDF + logistic regression", "metrics": {"val/accuracy": 0.97}}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(final_table({**SUMMARY, "data": {"baseline": reached}}))
    text = console.export_text()
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}
    assert rows["val/accuracy"] == ["0.600", "±", "0.030", "0.610", "(20)", "0.230", "0.970"]
    assert rows["val/batch_stats/accuracy"] == ["0.650", "0.230"]
    assert "baseline: TF-IDF + logistic regression" in text
