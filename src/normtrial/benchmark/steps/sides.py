"""A side of a comparison, taken by turns: `Here` in this process, or `Apart` in one of its own.

In one process both sides share what ours asks of malloc, which flatters a peer: by itself it hands every large
block back to the kernel and pays for fresh pages. Apart, each side has the allocator that it would have by itself.
Turns follow each other all the same, and neither process works while the other does.
"""

import multiprocessing
import tempfile
import time
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import torch

from normtrial.benchmark.pairs import Clock
from normtrial.benchmark.steps import ours
from normtrial.benchmark.steps.held import Held, share_one_arena
from normtrial.training.process.memory import keep_freed_memory

PATIENCE = 60  # seconds; an interpreter on a busy machine needs ten to end
CLOCKS: dict[str, Clock] = {"wall time": time.perf_counter, "CPU time": time.process_time}


class Side(Protocol):
    """A turn a call."""

    num_parameters: int
    spent: float  # seconds of all turns, by the clock of the process that works

    def __call__(self) -> None:
        """A turn."""
        ...

    def close(self) -> None:
        """End the loop."""
        ...


class Here:
    """In a thread of this process.

    Args:
        peer: a peer's module by name; None is our side.
        overrides: of the configuration.
        num_steps: of a turn; every turn has the same batches.
        clock: a name in `CLOCKS`.
    """

    def __init__(self, peer: str | None, overrides: list[str], num_steps: int, clock: str):
        share_one_arena()
        self._folder = tempfile.TemporaryDirectory()
        self._clock, self.spent = CLOCKS[clock], 0.0
        config, folder = ours.configured(*overrides), Path(self._folder.name)
        data = ours.data_of(config)
        if peer is None:
            keep_freed_memory()  # as run.py does
            loop = ours.loop_of(config, folder)
            model, train = loop.s.model, ours.trainer(loop)
        else:
            module, shape = import_module(peer), ours.shape_of(config, data)
            model = module.build(shape)
            train = lambda batches: module.train(shape, model, batches, folder)  # noqa: E731
        self.num_parameters = sum(p.numel() for p in model.parameters())
        self._turn = Held(train, lambda step: data.train_batch(step, config.seed), num_steps)

    def __call__(self) -> None:
        """A turn."""
        began = self._clock()
        self._turn()
        self.spent += self._clock() - began

    def close(self) -> None:
        """End the loop."""
        self._turn.close()
        self._folder.cleanup()


class Apart:
    """In a process of its own; arguments as `Here`."""

    def __init__(self, peer: str | None, overrides: list[str], num_steps: int, clock: str):
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        given = far, torch.get_num_threads(), (peer, overrides, num_steps, clock)
        self._process = context.Process(target=_serve, args=given, daemon=True)
        self._process.start()
        self.num_parameters, self.spent = int(self._answer()), 0.0

    def __call__(self) -> None:
        """A turn."""
        self._pipe.send(True)
        self.spent = self._answer()

    def close(self) -> None:
        """End the process."""
        if self._process.is_alive():
            self._pipe.send(False)
            self._process.join(PATIENCE)
            self._process.kill()  # where a loop of others has left a thread behind that does not end

    def _answer(self) -> float:
        found: Any = self._pipe.recv()
        if isinstance(found, Exception):
            raise found
        return found


def _serve(pipe: Connection, num_threads: int, given: tuple[Any, ...]) -> None:
    torch.set_num_threads(num_threads)
    try:
        side = Here(*given)
        pipe.send(side.num_parameters)
        while pipe.recv():
            side()
            pipe.send(side.spent)
        side.close()
    except Exception as error:
        pipe.send(error)
