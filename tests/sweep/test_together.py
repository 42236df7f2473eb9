"""Two sweeps that share runs, started at once: each run is trained once, and both end with all."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support import answer
from tests.sweep.processes import LONGER, TWO, assert_trained_once, finished, notes, start_sweep


@pytest.mark.slow
def test_each_run_is_trained_by_one_of_them(cache: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    folders = [tmp_path / "one", tmp_path / "other"]
    typed = [*LONGER, TWO, "norm=bn,ln", "seed=0,1,2"]
    sweeps = [start_sweep(store, cache, folder, *typed) for folder in folders]
    for ended in [answer(sweep, timeout=400) for sweep in sweeps]:
        assert ended.code == 0, ended.err
        table = ended.out.split("mean ± sd over n seeds")[1].split()
        assert table[table.index("bn") + 1] == table[table.index("ln") + 1] == "3", "every run counts"
    assert len(finished(store)) == 6
    for run in finished(store):
        assert_trained_once(run)
    ways = Counter(note["status"] for folder in folders for note in notes(folder))
    assert set(ways) <= {"finished", "busy"}
    assert ways["finished"] >= 6
