"""The training loop: one flat row a logged step, evaluation, events, checkpoints.

A step is a pure function of the state before it, the seed and its number: batches come by number and the random
generator is set anew at every step. So arms see the same data and the same dropout, and a resumed run repeats
an undisturbed one bit for bit.
"""

import math
import time
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn

from normtrial.data.batch import Batch
from normtrial.training import accumulate
from normtrial.training.evaluation.evaluate import evaluate
from normtrial.training.nonfinite.replay import set_step_seed
from normtrial.training.optim import learning_rate
from normtrial.training.process.checkpoint import Due
from normtrial.training.process.memory import peak_memory_mib
from normtrial.training.process.randomness import random_state, set_random_state
from normtrial.training.process.stopwatch import Stopwatch
from normtrial.training.setup import Setup
from normtrial.training.state import Progress, counters

NONFINITE = ("nonfinite_loss", "nonfinite_grad")  # what `train.on_nonfinite` is about; a `scaler_skip` is not


class Loop:
    """Trains one model; `run` returns how it ended."""

    def __init__(self, setup: Setup, resumed: dict[str, Any] | None = None):
        self.s = setup
        self.progress = Progress()
        self._since = Stopwatch()
        self._penalty: float | None = None
        self._due = Due(setup.train.checkpoint_every, setup.train.checkpoint_seconds)
        if resumed:
            setup.model.load_state_dict(resumed["model"])
            setup.optimizer.load_state_dict(resumed["optimizer"])
            setup.scaler.load_state_dict(resumed["scaler"])
            self.progress = Progress(**resumed["progress"])
            setup.probes.load(resumed["probes"])
            set_random_state(resumed["random"])

    def run(self) -> tuple[str, str | None]:
        """(status, reason): finished, diverged or interrupted."""
        train = self.s.train
        self.s.model.train()
        started = time.perf_counter() - self.progress.seconds
        while self.progress.step < train.steps:
            step = self.progress.step + 1
            trouble = self._step(step)
            if trouble in NONFINITE and train.on_nonfinite == "stop":
                self.progress.step = step
                self.progress.seconds = time.perf_counter() - started
                return "diverged", trouble
            if step % train.eval_every == 0 or step == train.steps:
                self._evaluate("val", step)
            self.progress.step = step
            self.progress.seconds = time.perf_counter() - started
            stop = self.s.ranks.any(self.s.stop_requested())
            if stop or (step < train.steps and self._due.at(step)):
                self.save()
            if stop and step < train.steps:
                return "interrupted", "asked to stop"
        self._evaluate("test", train.steps)
        self.progress.seconds = time.perf_counter() - started
        if not all(math.isfinite(self.progress.metrics[f"{split}/loss_nats"]) for split in ("val", "test")):
            return "diverged", "nonfinite_evaluation"  # steps were skipped or taken, but the model is dead
        return "finished", None

    def save(self) -> None:
        """Checkpoint the state after the last step."""
        if self.s.record is None:
            return
        content = {
            "model": self.s.model.state_dict(),
            "optimizer": self.s.optimizer.state_dict(),
            "scaler": self.s.scaler.state_dict(),
            "progress": self.progress.as_dict(),
            "probes": self.s.probes.state(),
            "random": random_state(),
            "run_id": self.s.record.run_id,  # W&B's too
            "offsets": self.s.record.offsets(),
        }
        self.s.checkpoints.save(self.progress.step, content)
        self._due.restart()

    def _step(self, step: int) -> str | None:
        """Take one step; says what was not finite, or None."""
        s, began = self.s, time.perf_counter()
        whole = s.data.train_batch(step - 1, s.seed)
        batch = s.ranks.share(whole).to(s.device)
        waited = time.perf_counter() - began
        for group in s.optimizer.param_groups:
            group["lr"] = learning_rate(s.optim, self.progress.updates + 1, s.train.steps)
        logged = step % s.train.log_every == 0 or step in (1, s.train.steps)
        s.forensics.remember()
        with s.probes.watching(step, logged):
            loss = self._backward(batch, step, logged)
        s.scaler.unscale_(s.optimizer)
        s.probes.measure()
        norm, value = self._clip(), s.ranks.mean(float(loss))
        trouble = None
        if not (math.isfinite(value) and math.isfinite(norm)):
            trouble = self._examine(batch, step, value, norm)
        if trouble is None or (trouble in NONFINITE and s.train.on_nonfinite == "continue"):
            s.optimizer.step()
            self.progress.updates += 1
        else:
            s.forensics.undo()
        s.scaler.update()  # also after a skipped step: the factor falls, and gradients may be unscaled anew
        probed = s.probes.after_update()
        self._since.add(time.perf_counter() - began, waited, whole.num_tokens)
        for event in s.probes.events(value):
            self._event(step, *event)
        if logged or trouble in NONFINITE:
            self._log(step, value, norm, probed)
        return trouble

    def _clip(self) -> float:
        """Clip the gradients; their global norm before."""
        parameters = [p for p in self.s.model.parameters() if p.grad is not None]
        if self.s.optim.clip is None:  # a bound of infinity makes all gradients NaN where one is infinite
            return float(nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None]))
        return float(nn.utils.clip_grad_norm_(parameters, self.s.optim.clip))

    def _backward(self, batch: Batch, step: int, logged: bool) -> Tensor:
        """Loss and fresh gradients of a step."""
        s = self.s
        set_step_seed(s.seed, step, s.ranks.rank)
        s.optimizer.zero_grad(set_to_none=True)
        dead = s.dead if logged and "dead_output" not in self.progress.events else None
        with nullcontext() if dead is None else dead.watching():
            loss, penalty = accumulate.backward(s, batch, s.scaler.scale)
        self._penalty = None if penalty is None else float(penalty)
        found = None if dead is None else dead.found()
        if found:
            self._event(step, "dead_output", found.pop("site"), found)
        return loss

    def _log(self, step: int, loss: float, norm: float, probed: dict[str, float]) -> None:
        row = {
            "step": step,
            "train/loss_nats": loss,
            "optim/lr": self.s.optimizer.param_groups[0]["lr"],
            "grad/global_norm": norm,
            **({} if self._penalty is None else {"train/penalty_nats": self._penalty}),
            **probed,
            **self._since.read(),
            "memory/peak_mib": peak_memory_mib(self.s.device),
            "progress/epoch": self.s.data.epoch(step),
            **{f"events/{kind}": num for kind, num in counters(self.progress.events).items()},
        }
        self.progress.note(row)
        self.s.sinks.row(row)

    def _examine(self, batch: Batch, step: int, loss: float, norm: float) -> str:
        """Find out what was not finite by taking the step again, and report it."""
        s = self.s
        kind, found = s.forensics.examine(
            step, s.seed, batch, s.scaler.get_scale(), loss_is_finite=math.isfinite(loss)
        )
        self._event(step, kind, found.pop("site"), {"loss_nats": loss, "global_norm": norm, **found})
        return kind

    def _event(self, step: int, kind: str, site: str | None, detail: dict[str, Any]) -> None:
        self.progress.count(kind)
        self.s.sinks.event({"step": step, "kind": kind, "site": site, "detail": detail})

    def _evaluate(self, split: str, step: int) -> None:
        task = self.s.data.task
        row: dict[str, Any] = {"step": step, **evaluate(self.s, split, step)}
        self.progress.note(row)
        self.s.sinks.row(row)
        loss, trivial = row[f"{split}/loss_nats"], task.trivial_loss_nats
        stuck = not loss < 0.99 * trivial
        if split == "val" and stuck and 2 * step >= self.s.train.steps and "plateau" not in self.progress.events:
            self._event(step, "plateau", None, {"loss_nats": loss, "trivial_loss_nats": trivial})
