"""Two real processes under torchrun train the same model as one."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.errors import ConfigError
from normtrial.records import RunFolder, list_runs
from normtrial.training.ranks import Ranks, join
from tests.support import ROOT, SOTU, TINY, answer, comparable, start_process

TRIAL = [*TINY, *SOTU, "norm=ln", "model.dropout=0", "data.batch_size=8"]


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`torchrun --nproc-per-node 2 train.py …` on one thread a process."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    return subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )


def only_run(store: Path) -> RunFolder:
    (folder,) = list_runs(store)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("num_micro", [1, 2])
def test_two_processes_give_the_loss_of_one_and_log_once(num_micro: int, cache: Path, tmp_path: Path) -> None:
    one = answer(start_process(*TRIAL, f"cache={cache}", f"store={tmp_path / 'one'}"))
    shares = f"train.accumulate={num_micro}"
    two = torchrun(*TRIAL, shares, f"cache={cache}", f"store={tmp_path / 'two'}")
    assert (one.code, two.returncode) == (0, 0), one.err + two.stderr
    assert two.stdout.count("finished") == 1
    folder = only_run(tmp_path / "two")
    assert folder.read_meta()["processes"] == 2
    rows = list(zip(comparable(only_run(tmp_path / "one")), comparable(folder), strict=True))
    assert len(rows) >= 6
    for alone, shared in rows:
        assert alone.keys() == shared.keys()
        for name in ("train/loss_nats", "grad/global_norm", "val/loss_nats"):
            if name in alone:
                assert shared[name] == pytest.approx(alone[name], abs=1e-5)


def test_batch_statistics_of_several_processes_are_refused(trial: Callable[..., Config]) -> None:
    run.refuse_unsynced(trial("norm=bn"), Ranks(0, 1))
    run.refuse_unsynced(trial("norm=ln"), Ranks(0, 2))
    with pytest.raises(ConfigError, match=r"norm=bn .* 2 processes share; set norm\.sync=global"):
        run.refuse_unsynced(trial("norm=bn"), Ranks(0, 2))


def test_a_batch_that_cannot_be_shared_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="make it a multiple of 2"):
        join(batch_size=3, device="cpu")
