"""Loops that own their steps, taken by turns: each runs in a thread that is held where it asks for a batch.

So what is timed is `Trainer.train` or `Trainer.fit` as it stands, with whatever it does between steps. A loop that
fetches a batch ahead is held one step earlier: its first turn, which is never counted, is a step short, and every
later one has the steps asked for. Our side is held in the same way.
"""

import ctypes
import io
import itertools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress

import torch

from normtrial.data.batch import Batch

M_ARENA_MAX = -8  # of glibc's malloc.h


def share_one_arena() -> None:
    """Let all threads allocate as the main one does; a thread's own arena hands every large block back at once."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").mallopt(M_ARENA_MAX, 1)


class Ended(Exception):
    """Raised in a loop from where it asks for its next batch: there are no more turns."""


class Terminal(io.StringIO):
    """A terminal that nobody sees: progress bars draw, and what they draw is forgotten."""

    def isatty(self) -> bool:
        """So that bars are drawn."""
        return True

    def write(self, text: str) -> int:
        """Forget."""
        return len(text)


class Held:
    """A loop, `num_steps` steps a call; every turn has the same batches.

    Args:
        train: takes batches until `Ended` comes out of them.
        batch_of: makes a batch by its number, in the turn: this is part of a step.
    """

    def __init__(self, train: Callable[[Iterator[Batch]], None], batch_of: Callable[[int], Batch], num_steps: int):
        self._train, self._batch_of, self._num_steps = train, batch_of, num_steps
        self._go, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._closing, self._error = False, None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._terminal = Terminal()

    def __call__(self) -> None:
        """A turn."""
        with redirect_stdout(self._terminal), redirect_stderr(self._terminal):
            if self._thread.ident is None:
                self._thread.start()
            self._go.release()
            self._done.acquire()
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """End the loop."""
        if self._thread.is_alive():
            self._closing = True
            with redirect_stdout(self._terminal), redirect_stderr(self._terminal):
                self._go.release()
                self._thread.join()

    def batches(self) -> Iterator[Batch]:
        """What the loop is given."""
        for number in itertools.count():
            if number % self._num_steps == 0:
                if number:
                    self._done.release()
                self._go.acquire()
                if self._closing:
                    raise Ended
            yield self._batch_of(number % self._num_steps)

    def _run(self) -> None:
        torch.set_num_threads(torch.get_num_threads())  # of this thread
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what others find worth saying about few workers
                self._train(self.batches())
                raise RuntimeError("the loop ended by itself")
        except Ended:
            pass
        except BaseException as error:
            self._error = error
        self._done.release()
