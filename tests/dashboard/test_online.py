"""Mirroring to W&B online, which says how many lines it has of a run; its client stood in for: no server here."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from normtrial.dashboard.replay import lines_of, replay
from normtrial.records import RunFolder
from normtrial.training.sinks import mirror
from normtrial.training.sinks.record import WandbLogConfig
from tests.dashboard.conftest import PROJECT, sync

ONLINE = WandbLogConfig(mode="online", project=PROJECT, group=None, tags=[])


class Client:
    """Stands in for W&B online, which has some lines already."""

    def __init__(self, folder: Path, there: int):
        self.logged: list[dict[str, Any]] = []
        self.starting_step, self.url, self.summary, self.left = there, "https://app.example/r0", {}, 0
        self.settings = SimpleNamespace(sync_dir=folder, _offline=False)

    def log(self, values: dict[str, Any]) -> None:
        self.logged.append(values)

    def finish(self, exit_code: int | None = None) -> None:
        self.left += 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Client]:
    def made(there: int) -> Client:
        made = Client(Path(), there)

        def start(mode: str, dir: str, **given: Any) -> Client:
            made.settings.sync_dir = Path(dir) / "wandb" / "run-1"
            made.settings.sync_dir.mkdir(parents=True)
            return made

        monkeypatch.setattr(mirror, "start", start)
        return made

    return made


def test_online_a_killed_replay_goes_on_behind_what_has_arrived(
    make: Callable[..., RunFolder], client: Callable[[int], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make("r0", norm="bn", seed=1)  # whose spike in step 70 is counted before and after
    whole = client(0)
    with monkeypatch.context() as patch:
        patch.setattr(mirror.WandbSink, "finish", lambda sink, summary: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            replay(folder, ONLINE)
    assert len(whole.logged) == len(lines_of(folder))
    half = client(20)
    assert replay(folder, ONLINE) == "mirrored"
    assert half.logged == whole.logged[20:]
    assert half.summary["status"] == "finished"


def test_online_lines_of_another_record_are_not_mixed_with_ours(
    make: Callable[..., RunFolder],
    client: Callable[[int], Client],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make("r0")
    known = client(3)
    assert sync(tmp_path / "runs", "--mode", "online") == 1
    assert "\n1 run kept back (W&B has another record of the same id: " in capsys.readouterr().out
    assert (known.logged, known.summary, known.left) == ([], {}, 1)


def test_online_what_was_uploaded_whole_is_not_sent_again(
    make: Callable[..., RunFolder], client: Callable[[int], Client]
) -> None:
    folder = make("r0")
    known = client(len(lines_of(folder)))
    assert replay(folder, ONLINE) == "mirrored"
    assert (known.logged, known.left) == ([], 1)


def test_what_fails_in_w_and_b_is_said_and_not_taken_for_mirrored(
    make: Callable[..., RunFolder],
    client: Callable[[int], Client],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make("r0")
    broken = client(0)
    monkeypatch.setattr(broken, "log", lambda values: 1 / 0)
    with pytest.warns(UserWarning, match="W&B stopped mirroring"):
        assert sync(tmp_path / "runs", "--mode", "online") == 1
    assert capsys.readouterr().out.endswith("1 run failed in W&B\n")
    healthy = client(0)
    assert sync(tmp_path / "runs", "--mode", "online") == 0
    assert healthy.logged
