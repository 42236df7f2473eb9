"""Checkpoints: written beside the old ones, renamed when whole, the last few kept.

A checkpoint holds what the next step depends on: weights and buffers, the optimizer's state, what probes remember,
where the random generators stand, and the lengths of the run's files at that moment. Batches are functions of the
step's number and the learning rate of the number of updates, so they have no state.
"""

import contextlib
import io
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import torch

from normtrial.records import put_in_place


class Due:
    """Says when to checkpoint: every so many steps and, where wanted, so many seconds after the last one."""

    def __init__(self, every: int, seconds: float | None):
        self._every, self._seconds = every, seconds
        self.restart()

    def restart(self) -> None:
        """The seconds count from now."""
        self._since = monotonic()

    def at(self, step: int) -> bool:
        """Whether the state after `step` is to be kept."""
        late = self._seconds is not None and monotonic() - self._since >= self._seconds
        return late or step % self._every == 0


class Checkpoints:
    """The `checkpoint/` folder of a run: one file a saved step, `step-00000100.pt`."""

    def __init__(self, folder: Path, keep: int):
        self.folder, self.keep = folder, keep

    def save(self, step: int, content: dict[str, Any]) -> None:
        """Write the state after `step` atomically; of earlier ones the last few stay, of later ones none.

        A later one is left where it could not be read and the run went on from the one before.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"step-{step:08d}.pt"
        temporary = path.with_suffix(".part")
        whole = io.BytesIO()  # writing straight to a full disk, torch raises errors of its own that do not say so
        torch.save(content, whole)
        try:
            with temporary.open("wb") as file:
                file.write(whole.getbuffer())
                file.flush()
                os.fsync(file.fileno())
            put_in_place(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
        kept = [file for file in self._files() if file <= path][-self.keep :]
        for file in self._files():
            if file not in kept:
                file.unlink()

    def latest(self, usable: Callable[[dict[str, Any]], bool] = lambda content: True) -> dict[str, Any] | None:
        """The newest state that can be read and is usable, or None; what is passed over is said in a warning."""
        for path in reversed(self._files()):
            try:
                content = torch.load(path, map_location="cpu", weights_only=True)
            except Exception as error:
                warnings.warn(f"{path} cannot be read ({error}); trying the one before.", stacklevel=2)
                continue
            if usable(content):
                return content
            warnings.warn(f"{path} does not fit the rest of its run folder; trying the one before.", stacklevel=2)
        return None

    def clear(self) -> None:
        """Remove every file: the run has ended and nothing is left to resume."""
        for path in [*self._files(), *self.folder.glob("*.part")]:
            path.unlink()
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("step-*.pt"))
