"""Checkpoints: written beside the old ones, renamed when whole, the last few kept."""

import contextlib
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


class Checkpoints:
    """The `checkpoint/` folder of a run: one file a saved step, `step-00000100.pt`."""

    def __init__(self, folder: Path, keep: int):
        self.folder, self.keep = folder, keep

    def save(self, step: int, content: dict[str, Any]) -> None:
        """Write the state after `step` atomically, then drop all but the last `keep` files."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"step-{step:08d}.pt"
        temporary = path.with_suffix(".part")
        with temporary.open("wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        for old in self._files()[: -self.keep]:
            old.unlink()

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
