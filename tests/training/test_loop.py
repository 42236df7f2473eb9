"""The loop itself: when it logs and evaluates, clipping, and steps that depend on nothing but their number."""

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normtrial.errors import ConfigError
from normtrial.probes.base import Probe, Probes, Values
from normtrial.records import RunFolder
from normtrial.training.loop import Loop
from normtrial.training.setup import TrainConfig
from tests.training.toy import Bag, RandomText, make_loop, run


def rows(folder: Path, name: str) -> dict[int, float]:
    return {row["step"]: row[name] for row in RunFolder(folder).read_metrics() if name in row}


def test_it_logs_first_last_and_every_few_steps(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, {"steps": 8})
    assert run(loop) == ("finished", None)
    assert list(rows(tmp_path, "train/loss_nats")) == [1, 3, 6, 8]
    assert list(rows(tmp_path, "val/accuracy")) == [4, 8]
    assert list(rows(tmp_path, "test/accuracy")) == [8]
    assert rows(tmp_path, "progress/epoch") == {1: 0.1, 3: 0.3, 6: 0.6, 8: 0.8}
    assert rows(tmp_path, "optim/lr") == {1: 0.005, 3: 0.01, 6: 0.01, 8: 0.01}
    assert loop.progress.step == 8
    assert loop.progress.metrics["test/loss_nats"] == rows(tmp_path, "test/loss_nats")[8]
    assert loop.s.model.get_buffer("calls").item() == 8, "evaluation is not training"


@pytest.mark.parametrize("clip", [0.01, 1e6, None])
def test_gradients_are_clipped_and_logged_unclipped(
    clip: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[float] = []
    loop = make_loop(tmp_path, {"log_every": 1}, {"clip": clip})
    step = loop.s.optimizer.step

    def watched(*given: Any) -> None:
        squares = [p.grad.double().square().sum() for p in loop.s.model.parameters() if p.grad is not None]
        taken.append(math.sqrt(sum(squares)))
        step(*given)

    monkeypatch.setattr(loop.s.optimizer, "step", watched)
    run(loop)
    logged = list(rows(tmp_path, "grad/global_norm").values())
    assert len(taken) == len(logged) == 6
    assert min(logged) > 0.01
    expected = [0.01] * 6 if clip == 0.01 else logged
    assert taken == pytest.approx(expected, rel=1e-3)


def test_an_infinite_gradient_stays_where_it_is_without_clipping(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, {"log_every": 1}, {"clip": None})
    bag = loop.s.model
    for parameter in bag.parameters():
        parameter.grad = torch.ones_like(parameter)
    bias = bag.get_parameter("head.bias")
    bias.grad = torch.full_like(bias, math.inf)
    assert loop._clip() == math.inf
    loop.s.sinks.finish({})
    weight = bag.get_parameter("head.weight")
    assert weight.grad is not None
    assert weight.grad.eq(1).all()


class Ringing(Probe):
    """An event at every step."""

    def events(self, loss: float, row: Any) -> list[Any]:
        return [("spike", None, {})]


def test_a_row_counts_the_events_of_its_own_step(tmp_path: Path) -> None:
    loop = make_loop(tmp_path, {"log_every": 3}, probes=Probes({"ringing": Ringing({})}))
    run(loop)
    assert rows(tmp_path, "events/spike") == {1: 1, 3: 3, 6: 6}


def test_a_step_depends_on_its_number_and_the_seed_only(tmp_path: Path) -> None:
    def losses(name: str, seed: int, noise: int) -> list[float]:
        torch.rand(noise)
        loop = make_loop(tmp_path / name, {"log_every": 1}, {"lr": 1e-30}, seed=seed)
        run(loop)
        return list(rows(tmp_path / name, "train/loss_nats").values())

    first = losses("a", seed=0, noise=1)
    assert losses("b", seed=0, noise=5) == first
    assert losses("c", seed=1, noise=1) != first
    assert len(set(first)) == 6


def test_dropout_differs_between_steps_and_seeds(tmp_path: Path) -> None:
    """The same batch at every step and for every seed: only dropout is left to differ."""

    class OneBatch(RandomText):
        def train_batch(self, step: int, seed: int) -> Any:
            return super().train_batch(0, 0)

    found: list[float] = []
    for seed in (0, 1):
        folder = tmp_path / str(seed)
        run(make_loop(folder, {"log_every": 1}, {"lr": 1e-30}, data=OneBatch(), seed=seed))
        found += rows(folder, "train/loss_nats").values()
    assert len(set(found)) == 12


def test_a_skipped_step_changes_no_weight(tmp_path: Path) -> None:
    model = Bag()
    before = [p.detach().clone() for p in model.parameters()]
    model.head.register_full_backward_hook(lambda module, into, out: (into[0] * math.nan,))
    loop = make_loop(tmp_path, {"on_nonfinite": "skip"}, model=model)
    assert run(loop) == ("finished", None)
    assert loop.progress.events["nonfinite_grad"] == 6
    assert all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


def test_it_stops_at_the_first_bad_step_and_counts_it(tmp_path: Path) -> None:
    model = Bag()
    model.head.weight.data[0, 0] = math.nan
    loop = make_loop(tmp_path, model=model)
    assert run(loop) == ("diverged", "nonfinite_loss")
    assert loop.progress.step == 1
    assert rows(tmp_path, "train/loss_nats") == {1: None}
    assert rows(tmp_path, "val/loss_nats") == {}


def test_a_checkpoint_gives_back_the_whole_state(tmp_path: Path) -> None:
    full = make_loop(tmp_path / "full", {"log_every": 1})
    run(full)
    calls = iter([False, False, True])
    half = make_loop(tmp_path / "half", {"log_every": 1}, stop_requested=lambda: next(calls))
    assert run(half) == ("interrupted", "asked to stop")
    state = half.s.checkpoints.latest()
    assert state is not None
    assert state["progress"]["step"] == 3
    rest = make_loop(tmp_path / "rest", {"log_every": 1})
    rest = type(rest)(rest.s, state)
    assert run(rest) == ("finished", None)
    assert all(map(torch.equal, full.s.model.parameters(), rest.s.model.parameters()))
    assert rest.s.model.get_buffer("calls").item() == 6
    later = rows(tmp_path / "rest", "train/loss_nats")
    assert later == {step: loss for step, loss in rows(tmp_path / "full", "train/loss_nats").items() if step > 3}
    assert rest.progress.seconds > state["progress"]["seconds"]


COUNTS = ("steps", "eval_every", "log_every", "accumulate", "checkpoint_every", "checkpoint_keep")


@pytest.mark.parametrize("name", COUNTS)
def test_counts_start_at_one(name: str) -> None:
    values: dict[str, Any] = {**dict.fromkeys(COUNTS, 1), "checkpoint_seconds": None}
    TrainConfig(**values, on_nonfinite="stop").check()
    with pytest.raises(ConfigError, match=f"train.{name}=0 must be at least 1"):
        TrainConfig(**(values | {name: 0}), on_nonfinite="stop").check()
    with pytest.raises(ConfigError, match="did you mean 'stop'"):
        TrainConfig(**values, on_nonfinite="stp").check()
    with pytest.raises(ConfigError, match="checkpoint_seconds=0 must be positive"):
        TrainConfig(**(values | {"checkpoint_seconds": 0}), on_nonfinite="stop").check()


class Noisy(RandomText):
    """Labels drawn from the generators of Python and NumPy, wherever these stand."""

    def train_batch(self, step: int, seed: int) -> Any:
        batch = super().train_batch(step, seed)
        batch.targets = torch.tensor([*np.random.randint(3, size=2), *(random.randrange(3) for _ in range(2))])
        return batch


class Memory(Probe):
    """A probe that remembers."""

    seen = 0

    def measure(self) -> Values:
        self.seen += 1
        return {"events/seen": torch.tensor(self.seen)}

    def state(self) -> dict[str, Any]:
        return {"seen": self.seen}

    def load(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]


def test_generators_and_probes_go_on_where_they_stood(tmp_path: Path) -> None:
    def loop(name: str, **setup: Any) -> Loop:
        return make_loop(
            tmp_path / name, {"log_every": 1}, data=Noisy(), probes=Probes({"memory": Memory({})}), **setup
        )

    def disturb(seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed)

    disturb(0)
    run(loop("full"))
    disturb(0)
    calls = iter([False, False, True])
    half = loop("half", stop_requested=lambda: next(calls))
    run(half)
    disturb(7)
    run(Loop(loop("rest").s, half.s.checkpoints.latest()))
    for name in ("train/loss_nats", "events/seen"):
        full = rows(tmp_path / "full", name)
        assert rows(tmp_path / "half", name) | rows(tmp_path / "rest", name) == full
    assert list(full.values()) == [1, 2, 3, 4, 5, 6]


def test_seconds_make_a_checkpoint_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 100, 10))  # every look at it takes ten seconds
    monkeypatch.setattr("normtrial.training.process.checkpoint.monotonic", lambda: next(clock))
    loop = make_loop(tmp_path, {"checkpoint_seconds": 25.0})
    saved: list[int] = []
    monkeypatch.setattr(loop.s.checkpoints, "save", lambda step, content: saved.append(step))
    run(loop)
    assert saved == [3], "20 seconds after the second step, 30 after the third"
