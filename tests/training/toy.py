"""A model without any norm, a text of random tokens, and a loop over them: what the instrument must work with.

Shapes: B examples, L positions, D model width, C classes.
"""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler

from normtrial.data.batch import Batch, Task
from normtrial.data.dataset import TextData
from normtrial.data.view import PLAIN, View
from normtrial.probes.base import Probes
from normtrial.records import RunFolder
from normtrial.training.loop import Loop
from normtrial.training.nonfinite.forensics import Forensics
from normtrial.training.nonfinite.replay import Replica
from normtrial.training.optim import OptimConfig, build_optimizer
from normtrial.training.process.checkpoint import Checkpoints
from normtrial.training.ranks import Ranks
from normtrial.training.setup import Setup, TrainConfig
from normtrial.training.sinks.record import RecordSink, Sinks

TASK = Task("classification", 3, 20, ("a", "b", "c"), 1.0986, 0.4, {})


class Bag(nn.Module):
    """Mean embedding and a linear map, with dropout and a buffer that counts training passes."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(20, 8)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(8, 3)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, tokens_BL: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        if self.training:
            self.calls += 1
        return self.head(self.dropout(self.embedding(tokens_BL).mean(1)))


class RandomText:
    """Batches by number."""

    task = TASK

    def train_batch(self, step: int, seed: int) -> Batch:
        generator = torch.Generator().manual_seed(1000 * seed + step)
        tokens_BL = torch.randint(20, (4, 5), generator=generator)
        return Batch(tokens_BL, None, tokens_BL[:, 0] % 3)

    def eval_batches(self, split: str, view: View = PLAIN) -> Iterator[Batch]:
        yield from (self.train_batch(step, 9) for step in range(2))

    def tokens_per(self, unit: str, split: str, view: View = PLAIN) -> float:
        return math.nan

    def epoch(self, step: int) -> float:
        return step / 10


def make_loop(
    folder: Path, train: dict[str, Any] | None = None, optim: dict[str, Any] | None = None, **setup: Any
) -> Loop:
    """A loop over the toy with the given changes; `setup` replaces parts of its `Setup`."""
    plan: dict[str, Any] = {
        "steps": 6, "eval_every": 4, "log_every": 3, "checkpoint_every": 100, "checkpoint_keep": 1,
        "on_nonfinite": "stop", "accumulate": 1, "checkpoint_seconds": None,
    }  # fmt: skip
    rates: dict[str, Any] = {
        "name": "adamw", "lr": 0.01, "weight_decay": 0.0, "beta1": 0.9, "beta2": 0.98, "eps": None,
        "warmup_steps": 2, "schedule": "constant", "clip": None,
    }  # fmt: skip
    model = setup.get("model", Bag())
    config = OptimConfig(**(rates | (optim or {})))
    record = RecordSink(RunFolder(folder))
    replica = Replica(model, dict(model.named_children()), {}, nullcontext, lambda: None)
    parts: dict[str, Any] = {
        "model": model,
        "forward": model,
        "data": cast(TextData, RandomText()),
        "optimizer": build_optimizer(config, list(model.parameters()), []),
        "train": TrainConfig(**(plan | (train or {}))),
        "optim": config,
        "seed": 0,
        "device": "cpu",
        "computing": nullcontext,
        "evaluations": {"": nullcontext},
        "probes": Probes(),
        "penalty": lambda: None,
        "ranks": Ranks(),
        "forensics": Forensics(replica, Ranks(), folder / "nonfinite", {}),
        "dead": None,
        "scaler": GradScaler("cpu", enabled=False),
        "record": record,
        "sinks": Sinks([record]),
        "checkpoints": Checkpoints(folder / "checkpoint", 1),
        "stop_requested": lambda: False,
    }
    return Loop(Setup(**(parts | setup)))


def run(loop: Loop) -> tuple[str, str | None]:
    """How the loop ends; its files are closed."""
    try:
        return loop.run()
    finally:
        loop.s.sinks.finish({})
