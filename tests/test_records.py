"""The run folder's contract: strict JSON, whole files, one writer at a time."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from normtrial.records import (
    JsonLines,
    RunFolder,
    is_scientific,
    list_runs,
    lock,
    read_json_lines,
    strict,
    to_json,
    write_text,
)


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def test_rows_are_strict_json_and_name_what_is_not_finite(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    lines.append({"step": 1, "a": math.nan, "b": math.inf, "c": -math.inf, "d": 0.5, "detail": {"x": [math.nan]}})
    lines.append({"step": 2, "d": 1e-30, "text": "naïve"})
    lines.close()
    texts = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    first, second = (json.loads(text, parse_constant=refuse) for text in texts)
    assert first == {
        "step": 1, "a": None, "b": None, "c": None, "d": 0.5, "detail": {"x": ["nan"]},
        "nonfinite": {"a": "nan", "b": "inf", "c": "-inf"},
    }  # fmt: skip
    assert second == {"step": 2, "d": 1e-30, "text": "naïve"}


def test_a_row_is_on_disk_as_soon_as_it_is_written(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / "metrics.jsonl")
    lines.append({"step": 1})
    assert read_json_lines(tmp_path / "metrics.jsonl") == [{"step": 1}]
    lines.close()


def test_a_half_written_last_line_is_left_out_and_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = JsonLines(path)
    lines.append({"step": 1})
    kept = lines.offset()
    lines.append({"step": 2})
    lines.close()
    with path.open("ab") as file:
        file.write(b'{"step": 3, "tr')
    assert [row["step"] for row in read_json_lines(path)] == [1, 2]
    lines = JsonLines(path, truncate_to=kept)
    assert lines.offset() == kept
    lines.append({"step": 20})
    lines.close()
    assert path.read_bytes() == b'{"step": 1}\n{"step": 20}\n'
    assert read_json_lines(tmp_path / "none.jsonl") == []


def test_nested_values_become_strict() -> None:
    text = to_json({"best": {"loss": [math.nan, 3]}, 1: (math.inf,)})  # pyright: ignore[reportArgumentType]
    assert json.loads(text, parse_constant=refuse) == {"best": {"loss": ["nan", 3]}, "1": ["inf"]}
    assert strict({"a": 1.5, "b": None, "c": True}) == {"a": 1.5, "b": None, "c": True}


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "deep" / "summary.json"
    write_text(path, "old")
    seen: list[str] = []

    def die(temporary: Path, target: Path) -> None:
        seen.append(temporary.read_text(encoding="utf-8"))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", die)
        with pytest.raises(KeyboardInterrupt):
            write_text(path, "new")
    assert seen == ["new"], "the neighbour was whole before the rename"
    assert path.read_text(encoding="utf-8") == "old"
    write_text(path, "newer")
    assert path.read_text(encoding="utf-8") == "newer"


def test_a_folder_reads_back_what_was_written(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "abc123")
    assert folder.run_id == "abc123"
    assert (folder.read_summary(), folder.read_meta(), folder.read_metrics(), folder.read_events()) == (
        None,
        {},
        [],
        [],
    )
    folder.write_json("summary.json", {"status": "finished", "metrics": {"val/loss_nats": math.nan}})
    folder.write_json("meta.json", {"code_hash": "x"})
    assert folder.read_summary() == {"status": "finished", "metrics": {"val/loss_nats": "nan"}}
    assert folder.read_meta() == {"code_hash": "x"}
    assert list_runs(tmp_path) == [], "a folder without a configuration is no run yet"
    write_text(folder.path / "config.yaml", "seed: 0\n")
    write_text(tmp_path / ".superseded" / "abc123-1" / "config.yaml", "seed: 0\n")
    assert [run.path for run in list_runs(tmp_path)] == [folder.path]
    assert folder.config_text() == "seed: 0\n"
    assert sorted(path.name for path in folder.path.iterdir()) == ["config.yaml", "meta.json", "summary.json"]


HOLD = """
import sys
from pathlib import Path
from normtrial.records import lock
with lock(Path(sys.argv[1]), wait=False) as mine:
    print(mine, flush=True)
    sys.stdin.readline()
"""


def test_one_process_at_a_time_and_death_gives_the_lock_back(tmp_path: Path) -> None:
    path = tmp_path / "run" / ".lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        with lock(path, wait=False) as mine:
            assert not mine
        holder.kill()
        holder.wait()
        with lock(path, wait=False) as mine:
            assert mine
            with lock(path, wait=False) as again:
                assert not again, "within one process too"
    with lock(path) as mine:
        assert mine


def test_what_identifies_a_run() -> None:
    assert [is_scientific(leaf) for leaf in ("norm.eps", "data.limit", "train.steps", "train.eval_every")] == [
        True
    ] * 4
    assert not any(map(is_scientific, ("log.mode", "log", "store", "probe.names", "train.log_every", "device")))
    assert is_scientific("storefront"), "a prefix of letters is no part of a name"


def test_leftovers_of_killed_writers_go_and_nothing_else(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    bundle = folder.path / "nonfinite" / "step-00000007"
    bundle.mkdir(parents=True)
    kept = [folder.path / ".lock", folder.path / "config.yaml", bundle / "bundle.pt"]
    for path in (*kept, folder.path / ".summary.json.123", bundle / ".bundle.pt.123"):
        path.touch()
    folder.remove_leftovers()
    assert sorted(path for path in folder.path.rglob("*") if path.is_file()) == sorted(kept)
