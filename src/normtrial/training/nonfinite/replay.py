"""A training step taken again from where it started: nothing of the model or its gradients changes.

A step depends on weights and buffers before it, its batch, the seed and its number. These make a `Start`, which a
bundle keeps as a file; so a step can be repeated on another machine, and in another precision.
"""

import io
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from normtrial.data.batch import Batch
from normtrial.probes.base import Sites
from normtrial.probes.dead import DeadOutputs
from normtrial.probes.magnitudes import is_finite
from normtrial.probes.nonfinite import Watch
from normtrial.records import write_bytes
from normtrial.training import accumulate
from normtrial.training.evaluation.predict import Context

FORMAT = 1


@dataclass(slots=True)
class Replica:
    """A model that steps are repeated with."""

    model: nn.Module
    sites: Sites
    norms: Sites  # those of the sites that are norms
    computing: Context
    penalty: Callable[[], Tensor | None]
    num_micro: int = 1  # passes a step

    @property
    def forward(self) -> nn.Module:
        """The model itself, neither compiled nor wrapped."""
        return self.model


@dataclass(slots=True)
class Start:
    """All that a step depends on."""

    step: int
    seed: int
    rank: int
    batch: Batch
    tensors: dict[str, Tensor]  # parameters and buffers before the step
    scale: float = 1.0  # factor on the loss

    def in_dtype(self, dtype: torch.dtype) -> "Start":
        """The same with floating-point tensors in another dtype."""
        return replace(self, tensors={k: _cast(v, dtype) for k, v in self.tensors.items()})

    def to(self, device: str) -> "Start":
        """The same on another device."""
        tensors = {name: tensor.to(device) for name, tensor in self.tensors.items()}
        return replace(self, batch=self.batch.to(device), tensors=tensors)


@dataclass(slots=True)
class Taken:
    """What came of a step."""

    loss: Tensor
    gradients: dict[str, Tensor]  # by parameter, scaled as the loss was
    origin: dict[str, Any]
    chain: list[dict[str, Any]]
    dead: dict[str, Any] | None

    @property
    def is_finite(self) -> bool:
        """Loss and all gradients."""
        return is_finite(self.loss) and all(map(is_finite, self.gradients.values()))


def set_step_seed(seed: int, step: int, rank: int) -> None:
    """The random generator stands where this step's does: dropout is a function of seed, step and process."""
    torch.manual_seed(seed * 1_000_003 + step + (rank << 48))


def take(replica: Replica, start: Start, *, watched: bool = True) -> Taken:
    """Take the step from its start, in the precision of its tensors; watching costs about four times as much."""
    own = dict(replica.model.named_parameters())
    tensors = {name: tensor.detach().clone() for name, tensor in start.tensors.items()}
    parameters = {name: tensors[name].requires_grad_() for name in own}
    is_double = next(iter(parameters.values())).dtype == torch.float64
    passes = replace(replica, computing=nullcontext) if is_double else replica
    watch, dead = Watch(replica.model, replica.sites), DeadOutputs(replica.norms)

    def step() -> Tensor:
        set_step_seed(start.seed, start.step, start.rank)
        with dead.watching(), watch if watched else nullcontext():
            return accumulate.backward(passes, start.batch, lambda loss: loss * start.scale)[0]

    was_training = replica.model.training
    replica.model.train()
    try:
        loss = functional_call(_Within(replica.model), {f"model.{k}": v for k, v in tensors.items()}, (step,))
    finally:
        replica.model.train(was_training)
    gradients = {name: p.grad for name, p in parameters.items() if p.grad is not None}
    return Taken(loss, gradients, watch.origin(loss, gradients.values()), watch.chain, dead.found())


class _Within(nn.Module):
    """Runs anything while `functional_call` has exchanged the model's tensors, the backward pass included."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, run: Callable[[], Tensor]) -> Tensor:
        return run()


def write_bundle(folder: Path, start: Start, about: dict[str, Any]) -> None:
    """Keep a start, with plain values about it, where `read_bundle` finds it."""
    content = {
        "format": FORMAT,
        "about": about,
        "start": {name: getattr(start, name) for name in ("step", "seed", "rank", "scale", "tensors")},
        "batch": asdict(start.batch),
    }
    whole = io.BytesIO()
    torch.save(content, whole)
    write_bytes(folder / "bundle.pt", whole.getbuffer())


def read_bundle(folder: Path) -> tuple[Start, dict[str, Any]]:
    """A start and what is known about it; safe to read from anywhere (`weights_only`)."""
    content = torch.load(folder / "bundle.pt", map_location="cpu", weights_only=True)
    return Start(batch=Batch(**content["batch"]), **content["start"]), content["about"]


def _cast(tensor: Tensor, dtype: torch.dtype) -> Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
