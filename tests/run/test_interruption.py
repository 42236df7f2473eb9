"""A run that is told to stop goes on later as if nothing had happened: rows and weights bit for bit."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Timer

import pytest
import torch
from torch import Tensor

from normtrial import records, run
from normtrial.config import Config
from normtrial.records import list_runs
from normtrial.training.process.checkpoint import Checkpoints
from tests.support import TINY, answer, command, comparable, start_process
from tests.sweep.processes import notes

Train = Callable[[Config], float | None]
# Long enough for a signal to find it at work.
LONGER = ["train.steps=200", "train.eval_every=70", "train.checkpoint_every=50", "model.dropout=0.3"]


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Tensor]]:
    """Parameters and buffers of the model that was built last."""
    built: list[torch.nn.Module] = []
    build = run.build_model
    monkeypatch.setattr(run, "build_model", lambda *given: built.append(build(*given)) or built[-1])
    return lambda: {name: value.clone() for name, value in built[-1].state_dict().items()}


@pytest.mark.parametrize("norm", ["bn", pytest.param("ln", marks=pytest.mark.slow)])
def test_a_real_process_stops_on_sigterm_and_the_same_command_goes_on(
    norm: str,
    configure: Callable[..., Config],
    train: Train,
    weights: Callable[[], dict[str, Tensor]],
    cache: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    typed = [*TINY, *LONGER, f"norm={norm}", f"cache={cache}"]
    undisturbed = configure(*typed, f"store={tmp_path / 'undisturbed'}")
    train(undisturbed)
    expected = weights()

    store = tmp_path / "store"
    process = start_process(*typed, f"store={store}")
    assert process.stderr is not None
    for line in process.stderr:
        if " 11/200 " in line:
            break
    process.send_signal(signal.SIGTERM)
    stopped = answer(process)
    assert stopped.code == 130
    assert "Traceback" not in stopped.err
    (folder,) = list_runs(store)
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["status"], summary["reason"]) == ("interrupted", "asked to stop")
    assert 11 <= summary["steps"] < 200
    state = Checkpoints(folder.path / "checkpoint", 2).latest()
    assert state is not None
    assert state["progress"]["step"] == summary["steps"], "not a step is lost"

    capsys.readouterr()
    train(configure(*typed, f"store={store}"))
    assert f"resuming run {folder.run_id} after step {summary['steps']}" in capsys.readouterr().out
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["status"], summary["steps"]) == ("finished", 200)
    assert comparable(folder) == comparable(list_runs(undisturbed.store)[0])
    ended = weights()
    assert ended.keys() == expected.keys()
    assert all(torch.equal(ended[name], value) for name, value in expected.items())
    assert not any(
        torch.equal(value, torch.zeros_like(value)) for name, value in ended.items() if "weight" in name
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopping_twice_in_a_run_changes_nothing(
    number: signal.Signals,
    trial: Callable[..., Config],
    train: Train,
    weights: Callable[[], dict[str, Tensor]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    undisturbed = trial("norm=bn", "model.dropout=0.3", f"store={tmp_path / 'undisturbed'}")
    train(undisturbed)
    expected = weights()
    config = trial("norm=bn", "model.dropout=0.3")
    step = run.Loop._step
    for stop in (2, 3):
        with monkeypatch.context() as patch:
            patch.setattr(
                run.Loop,
                "_step",
                lambda loop, at, stop=stop: (
                    (signal.raise_signal(number) if at == stop else None) or step(loop, at)
                ),
            )
            with pytest.raises(KeyboardInterrupt):
                train(config)
        (folder,) = list_runs(config.store)
        summary = folder.read_summary()
        assert summary is not None
        assert (summary["status"], summary["steps"]) == ("interrupted", stop)
    train(config)
    assert "after step 3" in capsys.readouterr().out, "not from the start"
    assert comparable(folder) == comparable(list_runs(undisturbed.store)[0])
    assert all(torch.equal(weights()[name], value) for name, value in expected.items())


def test_a_signal_during_the_last_step_finishes_the_run(
    trial: Callable[..., Config], train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = run.Loop._step
    monkeypatch.setattr(
        run.Loop,
        "_step",
        lambda loop, at: (signal.raise_signal(signal.SIGTERM) if at == 6 else None) or step(loop, at),
    )
    config = trial()
    assert train(config) is not None
    (folder,) = list_runs(config.store)
    summary = folder.read_summary()
    assert summary is not None
    assert summary["status"] == "finished"


def test_the_record_names_every_code_that_trained_it(
    trial: Callable[..., Config], train: Train, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = trial("norm=ln")
    with monkeypatch.context() as patch:
        patch.setattr(run.identity, "code_hash", lambda: "other code")
        patch.setattr(run, "stop_requests", lambda *given: nullcontext(lambda: True))
        with pytest.raises(KeyboardInterrupt):
            train(config)
    (folder,) = list_runs(config.store)
    assert folder.read_meta()["earlier_code"] == []
    train(config)
    assert "was begun by other code (other code)" in capsys.readouterr().out
    assert folder.read_meta()["earlier_code"] == ["other code"]
    assert folder.read_meta()["code_hash"] == run.identity.code_hash()


def test_signals_are_given_back_to_whoever_had_them(trial: Callable[..., Config], train: Train) -> None:
    def mine(*given: object) -> None:
        pass

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, mine)
    train(trial())
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == [mine, mine]


def test_one_ctrl_c_stops_a_sweep_of_jobs_one_after_the_other(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step, steps = run.Loop._step, []

    def interrupted(loop: run.Loop, at: int) -> object:
        steps.append(at)
        if at == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # it comes to another thread than this one, in its own time
        return step(loop, at)

    monkeypatch.setattr(run.Loop, "_step", interrupted)
    monkeypatch.setattr(run, "draw_curves", lambda folder: None)
    given = command(
        *("-m", *TINY, "norm=ln,bn", "hydra/launcher=basic", f"cache={cache}", f"store={tmp_path / 'store'}"),
        f"hydra.sweep.dir={tmp_path / 'sweep'}",
    )
    assert given.code == 130
    assert steps == [1, 2], "and nothing of the second"
    assert [job["status"] for job in notes(tmp_path / "sweep")] == ["interrupted"]
    (folder,) = list_runs(tmp_path / "store")
    state = Checkpoints(folder.path / "checkpoint", 2).latest()
    assert state is not None
    assert state["progress"]["step"] == 2


def test_a_run_in_another_process_is_waited_for(
    trial: Callable[..., Config], train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    config = trial("wait=true")
    value = train(config)
    (folder,) = list_runs(config.store)
    left: list[bool] = []
    held = records.lock(folder.path / ".lock")
    held.__enter__()

    def leave() -> None:
        left.append(True)
        held.__exit__(None, None, None)

    other = Timer(0.5, leave)
    other.start()
    assert train(config) == value
    assert left, "not before the other had left"
    other.join()
    out = capsys.readouterr().out
    assert f"run {folder.run_id} is being trained by another process; waiting." in out
    assert "is finished already" in out
