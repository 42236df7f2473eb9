"""What is done about a step whose loss or gradients are not finite: it is taken again, watched, and kept.

A training step pays for this with a copy of the buffers only (running statistics; a model without them has next to
none): weights are untouched until the optimizer's step, batches come by number, and the random generator is set by
the step's number.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from normtrial.data.batch import Batch
from normtrial.training.nonfinite.replay import Replica, Start, Taken, take, write_bundle
from normtrial.training.ranks import Ranks

MAX_BUNDLES = 3  # the first is what matters; a run that goes on with broken weights has one at every step


class Forensics:
    """Finds where a step went wrong, and undoes what its forward pass did to the buffers.

    Args:
        replica: the model under training.
        ranks: the processes that train it; every one of them examines its share of a bad batch.
        folder: where bundles are kept.
        about: plain values that a bundle tells about its run, from which the model can be built again.
    """

    def __init__(self, replica: Replica, ranks: Ranks, folder: Path, about: dict[str, Any]):
        self._replica, self._ranks, self._folder, self._about = replica, ranks, folder, about
        # By owner: some norms put a new tensor in the place of an old one.
        self._owners: list[tuple[str, dict[str, Any], str]] = [
            (f"{path}.{name}".lstrip("."), module._buffers, name)
            for path, module in replica.model.named_modules()
            for name, buffer in module._buffers.items()
            if buffer is not None and name not in module._non_persistent_buffers_set  # a table is no state
        ]
        self._kept = [buffer.clone() for buffer in self._buffers()]

    def remember(self) -> None:
        """Keep the buffers as they are before a step."""
        if self._kept:
            torch._foreach_copy_(self._kept, self._buffers())  # pyright: ignore[reportPrivateImportUsage]

    @torch.no_grad()
    def undo(self) -> None:
        """Put the buffers back: a step that is not taken leaves nothing behind."""
        if self._kept:
            torch._foreach_copy_(self._buffers(), self._kept)  # pyright: ignore[reportPrivateImportUsage]

    def examine(
        self, step: int, seed: int, batch: Batch, scale: float, *, loss_is_finite: bool
    ) -> tuple[str, dict[str, Any]]:
        """Take the step again; what happened, and where.

        Returns:
            The kind of event: `nonfinite_loss`, `nonfinite_grad`, or `scaler_skip` where the gradients overflow
            only because the loss was scaled up. And its details: site, pass, op, dtype, input, eps, whether the
            step is finite in float64, and the bundle from which it can be repeated.
        """
        start = Start(step, seed, self._ranks.rank, batch, self._tensors(), scale)
        taken = take(self._replica, start)
        if scale != 1 and loss_is_finite:
            unscaled = replace(start, scale=1.0)
            again = take(self._replica, unscaled)
            if not self._ranks.any(not again.is_finite):
                return "scaler_skip", self._of_all(_found(taken) | {"scale": scale})
            start, taken = unscaled, again
        found = _found(taken)
        kind = "nonfinite_grad" if loss_is_finite else "nonfinite_loss"
        if self._ranks.decided_by_first(self._has_room(step)):
            double = take(self._replica, start.in_dtype(torch.float64), watched=False)
            found["finite_in_float64"] = double.is_finite
            if found["reproduced"] or self._ranks.num == 1:
                found["bundle"] = self._keep(start, kind, found)
        return kind, self._of_all(found)

    def _buffers(self) -> list[Tensor]:
        return [buffers[name] for _, buffers, name in self._owners]

    def _tensors(self) -> dict[str, Tensor]:
        """Parameters and buffers as they were before the step."""
        buffers = zip((path for path, _, _ in self._owners), self._kept, strict=True)
        return {name: p.detach() for name, p in self._replica.model.named_parameters()} | dict(buffers)

    def _of_all(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the first of the ranks has found that has found anything."""
        everyone = self._ranks.gather(found)
        rank = next((rank for rank, each in enumerate(everyone) if each["site"] is not None), 0)
        return everyone[rank] | ({"rank": rank} if self._ranks.num > 1 else {})

    def _has_room(self, step: int) -> bool:
        """Counted by the earlier steps on disk, so that a resumed run keeps what an undisturbed one does."""
        earlier = (int(path.name.removeprefix("step-").split("-")[0]) for path in self._folder.glob("step-*"))
        return len({number for number in earlier if number < step}) < MAX_BUNDLES

    def _keep(self, start: Start, kind: str, found: dict[str, Any]) -> str:
        suffix = f"-rank{start.rank}" if self._ranks.num > 1 else ""
        folder = self._folder / f"step-{start.step:08d}{suffix}"
        write_bundle(folder, start, {**self._about, "kind": kind, "found": found})
        return f"{self._folder.name}/{folder.name}"


def _found(taken: Taken) -> dict[str, Any]:
    dead = {} if taken.dead is None else {"dead": taken.dead}
    return {**taken.origin, "reproduced": not taken.is_finite, **dead}
