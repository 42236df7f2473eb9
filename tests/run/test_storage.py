"""What disks do to a run: full, read-only, cut files. A clear error or the checkpoint before; nothing is lost."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.errors import ConfigError
from normtrial.records import RunFolder, list_runs
from tests.support import TINY, Answer, answer, comparable, start_process

Trial = Callable[..., Config]
Train = Callable[[Config], float | None]
OFTEN = ("norm=bn", "model.dropout=0.3", "train.checkpoint_every=2")


def digest(folder: RunFolder) -> str:
    summary = folder.read_summary()
    assert summary is not None
    assert summary["status"] == "finished"
    return summary["model"]["weights_sha256"]


@pytest.fixture
def whole(trial: Trial, train: Train, tmp_path: Path) -> RunFolder:
    """The undisturbed run."""
    config = trial(*OFTEN, f"store={tmp_path / 'undisturbed'}")
    train(config)
    return list_runs(config.store)[0]


@pytest.fixture
def interrupted(trial: Trial, train: Train, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    """The same run, crashed in step 6, with checkpoints of steps 2 and 4."""
    step = run.Loop._step
    with monkeypatch.context() as patch:
        patch.setattr(run.Loop, "_step", lambda loop, at: step(loop, at) if at < 6 else 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(trial(*OFTEN))
    return list_runs(trial(*OFTEN).store)[0]


def assert_equal(folder: RunFolder, whole: RunFolder) -> None:
    assert comparable(folder) == comparable(whole)
    assert folder.events_path.read_bytes() == whole.events_path.read_bytes()
    assert digest(folder) == digest(whole)
    assert sorted(path.name for path in folder.path.iterdir()) == sorted(p.name for p in whole.path.iterdir())


def test_cut_files_fall_back_to_the_checkpoint_before(
    interrupted: RunFolder, whole: RunFolder, trial: Trial, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = interrupted.path / "checkpoint" / "step-00000004.pt"
    newest.write_bytes(newest.read_bytes()[:-100])
    for path in (interrupted.metrics_path, interrupted.events_path):
        with path.open("ab") as file:
            file.write(b'{"step": 6, "train/lo')
    with pytest.warns(UserWarning, match=r"step-00000004\.pt cannot be read"):
        train(trial(*OFTEN))
    assert "after step 2" in capsys.readouterr().out
    assert_equal(interrupted, whole)


def test_a_checkpoint_that_does_not_belong_is_passed_over(
    interrupted: RunFolder, whole: RunFolder, trial: Trial, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that a checkpoint remembers are gone from the file: going on from it would leave a hole."""
    lines = interrupted.metrics_path.read_bytes().splitlines(keepends=True)
    interrupted.metrics_path.write_bytes(b"".join(lines[:3]))
    with pytest.warns(UserWarning, match="does not fit the rest of its run folder"):
        train(trial(*OFTEN))
    assert "after step 2" in capsys.readouterr().out
    assert_equal(interrupted, whole)


def test_a_checkpoint_of_another_run_is_not_taken(
    interrupted: RunFolder, trial: Trial, train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    other = trial(*OFTEN, "seed=1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.Loop, "_step", lambda loop, at: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(other)
    (folder,) = (found for found in list_runs(other.store) if found.path != interrupted.path)
    shutil.copytree(interrupted.path, folder.path, dirs_exist_ok=True)
    with pytest.warns(UserWarning, match="does not fit the rest of its run folder"):
        train(other)
    assert "resuming" not in capsys.readouterr().out
    assert digest(folder)


@pytest.fixture
def small_disk() -> Iterator[Callable[[int], None]]:
    """Limits the size of every file to so many bytes, as a full disk would: writing more is an OSError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_is_said_in_a_line_and_the_command_goes_on_later(
    small_disk: Callable[[int], None],
    whole: RunFolder,
    trial: Trial,
    train: Train,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    step = run.Loop._step
    with monkeypatch.context() as patch:
        patch.setattr(
            run.Loop, "_step", lambda loop, at: (small_disk(20_000) if at == 4 else None) or step(loop, at)
        )
        with pytest.raises(
            ConfigError, match=r"^store: .* cannot be written: File too large\. Once it can be, the"
        ):
            train(trial(*OFTEN))
    small_disk(resource.RLIM_INFINITY)
    (folder,) = list_runs(trial(*OFTEN).store)
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["status"], summary["steps"]) == ("crashed", 4)
    assert "File too large" in summary["reason"]
    train(trial(*OFTEN))
    assert "after step 2" in capsys.readouterr().out
    assert_equal(folder, whole)


def test_a_store_that_may_not_be_written_is_said_in_a_line(trial: Trial, train: Train) -> None:
    with pytest.raises(ConfigError, match=r"^store: /sys/kernel/\S+ cannot be written: "):
        train(trial("store=/sys/kernel/normtrial"))


def test_what_a_kill_left_behind_a_finished_run_is_cleared_and_the_rest_untouched(
    whole: RunFolder, trial: Trial, train: Train
) -> None:
    (whole.path / "curves.png").touch()  # else it is drawn
    before = {path.name: path.stat().st_mtime_ns for path in whole.path.iterdir()}
    (whole.path / "checkpoint").mkdir()
    for name in ("checkpoint/step-00000004.pt", "checkpoint/step-00000006.part", ".summary.json.123"):
        (whole.path / name).write_bytes(b"left")
    train(trial(*OFTEN, f"store={whole.path.parent}"))
    assert {path.name: path.stat().st_mtime_ns for path in whole.path.iterdir()} == before


@pytest.mark.slow
def test_a_real_disk_of_half_a_megabyte(whole: RunFolder, tmp_path: Path, cache: Path) -> None:
    """Full, then read-only, then large enough: two clear errors, and the same numbers in the end."""
    store = tmp_path / "disk"
    store.mkdir()

    def mount(*options: str) -> int:
        given = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(store)]
        return subprocess.run(given, capture_output=True, check=False).returncode

    def typed() -> Answer:
        return answer(start_process(*TINY, *OFTEN, f"cache={cache}", f"store={store}"))

    if mount("size=500k"):
        pytest.skip("mounting needs rights")
    try:
        for message in ("No space left on device", "Read-only file system"):
            ended = typed()
            assert ended.code == 1
            assert ended.message.startswith("normtrial: store: ")
            assert f"cannot be written: {message}. Once it can be" in ended.message
            assert "Traceback" not in ended.err
            mount("remount,ro")
        mount("remount,rw,size=20m")
        assert typed().code == 0
        (folder,) = list_runs(store)
        (folder.path / "curves.png").unlink()
        assert_equal(folder, whole)
    finally:
        subprocess.run(["umount", str(store)], check=True)
