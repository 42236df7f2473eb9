"""SIGTERM, Ctrl-C or a file as a question that the loop asks after each step, while a run is trained."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

LOOK_AGAIN_S = 0.2  # steps may be shorter, and looking for a file on a shared disk longer


@contextmanager
def stop_requests(file: Path | None = None) -> Iterator[Callable[[], bool]]:
    """A function that is true once SIGTERM or Ctrl-C has come; a second one ends the process at once.

    Or once there is the given file: what is stopped may be on any machine, in any process.
    Whoever handled the signals before does so again afterwards.
    """
    received: list[int] = []

    def note(number: int, frame: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    looked = 0.0

    def requested() -> bool:
        nonlocal looked
        if not received and file is not None and monotonic() - looked > LOOK_AGAIN_S:
            looked = monotonic()
            if file.exists():
                received.append(0)
        return bool(received)

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    except ValueError:
        pass  # not the main thread: signals are somebody else's
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
