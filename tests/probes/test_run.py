"""A run with every probe is the run without: same id, same losses; only its rows are longer."""

from pathlib import Path

from normtrial.records import RunFolder, list_runs
from normtrial.training.metrics import find
from tests.support import TINY, command, comparable

OF_PROBES = ("grad/block", "stats/", "stream/", "activation/", "centring/", "attention/", "affine/", "update/")


def test_rows_of_all_probes_hold_those_of_none(tmp_path: Path) -> None:
    folders: list[RunFolder] = []
    for probe in ("none", "all"):
        store = tmp_path / probe
        assert command(*TINY, "norm=bn", f"probe={probe}", f"store={store}").code == 0
        folders += list_runs(store)
    without, watched = folders
    assert without.run_id == watched.run_id
    rows, longer = comparable(without), comparable(watched)
    assert [{name: row[name] for name in short} for short, row in zip(rows, longer, strict=True)] == rows
    added = set(longer[-3]) - set(rows[-3])
    assert all(any(name.startswith(section) for name in added) for section in OF_PROBES)
    assert all(find(name) for row in longer for name in row if name not in ("step", "nonfinite"))
    assert not any("nonfinite" in row for row in longer)
    kinds = {event["kind"] for event in watched.read_events()} - {event["kind"] for event in without.read_events()}
    assert kinds == {"alarm_gain_sd_outside", "alarm_gain_sd_dead"}
