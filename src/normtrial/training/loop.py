"""The training loop: one flat row a logged step, evaluation, events, checkpoints.

A step is a pure function of the state before it, the seed and its number: batches come by number and the random
generator is set anew at every step. So arms see the same data and the same dropout, and a resumed run repeats
an undisturbed one bit for bit.
"""

import math
import time
from typing import Any

import torch
from torch import Tensor, nn

from normtrial.data.batch import Batch
from normtrial.training import accumulate
from normtrial.training.checkpoint import Due
from normtrial.training.evaluations import evaluate
from normtrial.training.memory import peak_memory_mib
from normtrial.training.optim import learning_rate
from normtrial.training.randomness import random_state, set_random_state
from normtrial.training.setup import Setup
from normtrial.training.state import Progress, restore, states
from normtrial.training.stopwatch import Stopwatch


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
            self.progress = Progress(**resumed["progress"])
            restore(setup.probes, resumed["state"])
            set_random_state(resumed["random"])

    def run(self) -> tuple[str, str | None]:
        """(status, reason): finished, diverged or interrupted."""
        train = self.s.train
        self.s.model.train()
        started = time.perf_counter() - self.progress.seconds
        while self.progress.step < train.steps:
            step = self.progress.step + 1
            trouble = self._step(step)
            if trouble and train.on_nonfinite == "stop":
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
        if not math.isfinite(self.progress.metrics["val/loss_nats"]):
            return "diverged", "nonfinite_evaluation"  # steps were skipped or taken, but the model is dead
        return "finished", None

    def save(self) -> None:
        """Checkpoint the state after the last step."""
        if self.s.record is None:
            return
        content = {
            "model": self.s.model.state_dict(),
            "optimizer": self.s.optimizer.state_dict(),
            "progress": self.progress.as_dict(),
            "state": states(self.s.probes),
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
            group["lr"] = learning_rate(s.optim, step, s.train.steps)
        loss = self._backward(batch, step)
        logged = step % s.train.log_every == 0 or step in (1, s.train.steps)
        probed = {k: v for probe in s.probes for k, v in probe.measure().items()} if logged else {}
        norm, value = self._clip(), s.ranks.mean(float(loss.detach()))
        trouble = _trouble(value, norm)
        if trouble:
            self._report_nonfinite(trouble, batch, step, value, norm)
        if trouble is None or s.train.on_nonfinite == "continue":
            s.optimizer.step()
        self._since.add(time.perf_counter() - began, waited, whole.num_tokens)
        if logged or trouble:
            self._log(step, value, norm, probed)
        return trouble

    def _clip(self) -> float:
        """Clip the gradients; their global norm before."""
        clip = math.inf if self.s.optim.clip is None else self.s.optim.clip
        return float(nn.utils.clip_grad_norm_(self.s.model.parameters(), clip))

    def _backward(self, batch: Batch, step: int) -> Tensor:
        """Loss and fresh gradients of a step; calling it again gives the same, dropout included."""
        torch.manual_seed(self.s.seed * 1_000_003 + step + (self.s.ranks.rank << 48))
        self.s.optimizer.zero_grad(set_to_none=True)
        loss, self._penalty = accumulate.backward(self.s, batch)
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
        }
        self.progress.note(row)
        self.s.sinks.row(row)

    def _report_nonfinite(self, kind: str, batch: Batch, step: int, loss: float, norm: float) -> None:
        """Find the first non-finite value by taking the step again; statistics are put back afterwards."""
        kept = {name: buffer.clone() for name, buffer in self.s.model.named_buffers()}
        found = self.s.locate(lambda: self._backward(batch, step))
        self._clip()  # the search has left fresh gradients, which `on_nonfinite=continue` will use
        with torch.no_grad():
            for name, buffer in self.s.model.named_buffers():
                buffer.copy_(kept[name])
        detail = {"loss_nats": loss, "global_norm": norm, **found}
        self._event(step, kind, detail.pop("site", None), detail)

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


def _trouble(loss: float, norm: float) -> str | None:
    if not math.isfinite(loss):
        return "nonfinite_loss"
    return None if math.isfinite(norm) else "nonfinite_grad"
