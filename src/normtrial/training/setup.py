"""What a loop is given: how long to train, and every object that it works with."""

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from normtrial.data.dataset import TextData
from normtrial.errors import not_one_of, require
from normtrial.probes.base import Probes
from normtrial.probes.dead import DeadOutputs
from normtrial.training.evaluation.predict import Context
from normtrial.training.evaluation.shifts import Shifts
from normtrial.training.nonfinite.forensics import Forensics
from normtrial.training.optim import OptimConfig
from normtrial.training.process.checkpoint import Checkpoints
from normtrial.training.ranks import Ranks
from normtrial.training.sinks.record import RecordSink, Sinks

ON_NONFINITE = ("stop", "skip", "continue")


@dataclass(kw_only=True, slots=True)
class TrainConfig:
    """Length of training and when something besides training happens."""

    steps: int  # optimizer steps
    eval_every: int  # steps between evaluations; the last step is always evaluated
    log_every: int  # steps between logged rows
    accumulate: int  # equal micro-batches whose gradients make a step; a norm over the batch sees one at a time
    checkpoint_every: int  # steps between checkpoints
    checkpoint_seconds: float | None  # seconds after which a checkpoint is due besides; null: by steps only
    checkpoint_keep: int  # checkpoints kept while the run goes on
    on_nonfinite: str  # stop: end as diverged; skip: leave the step out; continue: take it

    def check(self) -> None:
        """At least one of each, and a known policy."""
        for name in ("steps", "eval_every", "log_every", "accumulate", "checkpoint_every", "checkpoint_keep"):
            require(getattr(self, name) >= 1, f"train.{name}={getattr(self, name)} must be at least 1.")
        require(
            self.checkpoint_seconds is None or self.checkpoint_seconds > 0,
            f"train.checkpoint_seconds={self.checkpoint_seconds} must be positive; null goes by steps only.",
        )
        if self.on_nonfinite not in ON_NONFINITE:
            raise not_one_of("train.on_nonfinite", self.on_nonfinite, ON_NONFINITE)


@dataclass(slots=True)
class Setup:
    """Everything that a loop works with."""

    model: nn.Module
    forward: Callable[[Tensor, Tensor | None], Tensor]  # the model as it trains: shared by ranks, compiled
    data: TextData
    optimizer: Optimizer
    train: TrainConfig
    optim: OptimConfig
    seed: int
    device: str
    computing: Context  # the precision's context
    evaluations: dict[str, Context]  # name suffix ("" or "/batch_stats") → context to evaluate in
    probes: Probes
    forensics: Forensics
    dead: DeadOutputs | None  # looks for norms that answer with zeros; where numbers are half precision
    scaler: GradScaler
    penalty: Callable[[], Tensor | None]  # what the model adds to the loss of its last forward pass
    ranks: Ranks
    record: RecordSink | None  # None on all ranks but the first
    sinks: Sinks  # all of them, the record first
    checkpoints: Checkpoints
    stop_requested: Callable[[], bool]
    shifts: Shifts = field(default_factory=Shifts)  # evaluations beside the plain ones

    @property
    def num_micro(self) -> int:
        """Passes a step."""
        return self.train.accumulate
