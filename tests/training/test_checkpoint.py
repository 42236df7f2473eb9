"""Checkpoints survive a kill at any moment: whole or not there, and the newest that can be read wins."""

import resource
from pathlib import Path
from typing import Any

import pytest
import torch

from normtrial.training.process.checkpoint import Checkpoints


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "checkpoint", keep=2)


def names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.folder.iterdir())


def test_the_last_few_are_kept_and_the_newest_is_read(checkpoints: Checkpoints) -> None:
    assert checkpoints.latest() is None
    for step in (1, 2, 10):
        checkpoints.save(step, {"step": step, "weight": torch.full((2,), float(step))})
    assert names(checkpoints) == ["step-00000002.pt", "step-00000010.pt"]
    latest = checkpoints.latest()
    assert latest is not None
    assert latest["step"] == 10
    assert torch.equal(latest["weight"], torch.full((2,), 10.0))


def test_a_cut_file_is_passed_over_with_a_warning(checkpoints: Checkpoints) -> None:
    for step in (1, 2):
        checkpoints.save(step, {"step": step, "weight": torch.zeros(1000)})
    newest = checkpoints.folder / "step-00000002.pt"
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.warns(UserWarning, match=r"step-00000002\.pt cannot be read"):
        latest = checkpoints.latest()
    assert latest is not None
    assert latest["step"] == 1


def test_a_failure_while_writing_leaves_the_old_ones(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.save(1, {"step": 1})

    def full(content: Any, file: Any) -> None:
        file.write(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match="No space left"):
        checkpoints.save(2, {"step": 2})
    latest = checkpoints.latest()
    assert latest is not None
    assert latest["step"] == 1


def test_clearing_leaves_nothing(checkpoints: Checkpoints) -> None:
    checkpoints.save(1, {"step": 1})
    (checkpoints.folder / "step-00000002.part").write_bytes(b"half")
    checkpoints.clear()
    assert not checkpoints.folder.exists()
    checkpoints.clear()


def test_a_full_disk_is_an_os_error_and_gives_its_space_back(checkpoints: Checkpoints) -> None:
    checkpoints.save(1, {"step": 1})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        with pytest.raises(OSError, match="too large"):
            checkpoints.save(2, {"step": 2, "weight": torch.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert names(checkpoints) == ["step-00000001.pt"]


def test_later_ones_that_were_given_up_do_not_crowd_out_new_ones(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "checkpoint", keep=1)
    checkpoints.save(2, {"step": 2})
    checkpoints.save(1, {"step": 1})
    assert names(checkpoints) == ["step-00000001.pt"]
