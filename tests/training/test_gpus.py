"""Processes of one machine take different GPUs while there are enough; here they are names only."""

import multiprocessing
from pathlib import Path

from normtrial.training.process.gpus import own_gpu, own_one_of


def _hold(locks: Path, turn: int, taken: "multiprocessing.Queue[int]", leave: "multiprocessing.Event") -> None:  # type: ignore[name-defined]
    with own_one_of(["0", "1"], turn, locks) as index:
        taken.put(index)
        leave.wait(30)


def test_two_processes_have_different_ones_and_a_third_shares(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    taken, leave = context.Queue(), context.Event()
    others = [context.Process(target=_hold, args=(tmp_path, turn, taken, leave)) for turn in (0, 0)]
    for process in others:
        process.start()
    assert sorted(taken.get(timeout=30) for _ in others) == [0, 1]
    with own_one_of(["0", "1"], turn=3, locks=tmp_path) as shared:
        assert shared == 1
    leave.set()
    for process in others:
        process.join()
    with own_one_of(["0", "1"], turn=3, locks=tmp_path) as free:
        assert free == 0


def test_other_devices_are_left_as_they_are() -> None:
    for device in ("cpu", "cuda:1"):
        with own_gpu(device, 0) as found:
            assert found == device
