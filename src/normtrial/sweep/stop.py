"""Ctrl-C and SIGTERM in a sweep become a file that every job looks for, on whatever machine."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_at_signals(file: Path) -> Iterator[None]:
    """The first signal makes the file, a second one raises at once; handlers are given back afterwards."""

    def stop(number: int, frame: Any) -> None:
        if file.exists():
            raise KeyboardInterrupt
        file.touch()

    if threading.current_thread() is not threading.main_thread():
        yield  # signals are somebody else's
        return
    before = {number: signal.signal(number, stop) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def for_one_thread_only() -> Iterator[None]:
    """Ctrl-C passes by this thread, and so all processes begun meanwhile: a terminal sends it to them, too.

    A worker that has no job yet would die of it, and its pool kill the others before they have kept their state.
    Another thread, which must be there, receives it; Python then calls the handler in the main one.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
