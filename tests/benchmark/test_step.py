"""Both sides of a comparison compute the same, and their operations are counted right."""

import json
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from normtrial.assemble import build_model
from normtrial.benchmark import step
from normtrial.benchmark.steps import bare, memory, ours
from normtrial.benchmark.steps.held import Held
from normtrial.benchmark.steps.shape import Shape
from normtrial.data.batch import Batch
from normtrial.errors import ConfigError
from normtrial.training.evaluation.predict import mean_loss
from tests.benchmark.test_command import SCRIPT

# Made within a second; the same code as for real text.
TASKS = {"encoder": "data=order", "lm": "data=copy"}
SMALL = [
    *("model.num_layers=1", "model.d_model=16", "model.num_heads=2", "model.d_ff=32"),
    *("data.batch_size=4", "data.num_documents=500"),
]


@pytest.fixture(params=list(TASKS))
def overrides(request: pytest.FixtureRequest, cache: Path) -> list[str]:
    return [TASKS[request.param], *SMALL, f"cache={cache}"]


def sides(overrides: list[str]) -> tuple[torch.nn.Module, torch.nn.Module, Shape, Batch]:
    """Ours, the bare model with our weights, and a batch."""
    config = ours.configured(*overrides)
    data = ours.data_of(config)
    shape = replace(ours.shape_of(config, data), dropout=0.0)
    mine, theirs = build_model(config, data), bare.build(shape)
    with torch.no_grad():
        for theirs_p, mine_p in zip(theirs.parameters(), mine.parameters(), strict=True):
            theirs_p.copy_(mine_p)
    return mine.eval(), theirs, shape, data.train_batch(0, 0)


def test_the_bare_model_computes_what_ours_does(overrides: list[str]) -> None:
    mine, theirs, _, batch = sides(overrides)
    loss, expected = bare.mean_loss(theirs, batch), mean_loss(mine(batch.tokens_BL, batch.mask_BL), batch.targets)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    loss.backward()
    expected.backward()
    for theirs_p, mine_p in zip(theirs.parameters(), mine.parameters(), strict=True):
        torch.testing.assert_close(theirs_p.grad, mine_p.grad, rtol=1e-4, atol=1e-6)


def test_operations_are_counted_as_torch_counts_them(overrides: list[str]) -> None:
    _, model, shape, batch = sides(overrides)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        bare.mean_loss(model, batch).backward()
    assert counter.get_total_flops() == shape.flops(batch)


@pytest.mark.slow
@pytest.mark.parametrize("peer", list(step.PEERS))
def test_every_peer_is_timed_against_ours(
    peer: str,
    tmp_path: Path,
    cache: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for package in step.PEERS[peer].PACKAGES:
        pytest.importorskip(package)
    monkeypatch.setattr(step, "TASKS", TASKS)
    given = f"step --tasks lm --sizes tiny --peers {peer} --pairs 7 --steps 1 --no-memory --out {tmp_path}".split()
    SCRIPT["main"]([*given, *SMALL, f"cache={cache}"])
    kept = json.loads((tmp_path / "step.json").read_text("utf-8"))
    name = f"lm tiny: {step.PEERS[peer].NAME}"
    assert len(kept["comparisons"][name]["ratios"]) == 7
    assert kept["machine"]["threads"] == 1 and kept["machine"]["gemm_gflops"] > 0
    (side,) = kept["sides"]
    for which in ("ours", "theirs"):
        assert side[which]["tokens_per_s"] > 0 and side[which]["gemm_share"] > 0
    biases = 7 * 16 if peer == "x-transformers" else 0  # of qkv, output and three norms, which it has none of
    assert side["ours"]["parameters"] - side["theirs"]["parameters"] == biases
    assert name in capsys.readouterr().out


def test_a_missing_peer_is_said_and_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(step.PEERS["lightning"], "PACKAGES", ("not_there",))
    assert not step.is_installed("lightning")
    assert "not_there is not installed (python -m pip install" in capsys.readouterr().err
    assert step.is_installed("bare")


@pytest.mark.parametrize("name", ["x_transformers", "transformers", "accelerate", "lightning"])
def test_peers_are_no_part_of_the_product(name: str) -> None:
    needed = [line for line in requires("normtrial") or [] if line.startswith(name.replace("_", "-"))]
    assert all("extra ==" in line for line in needed)


def test_what_has_no_equal_is_refused(cache: Path) -> None:
    with pytest.raises(ConfigError, match=r"norm\.name=bn has no equal among the peers"):
        ours.configured("norm=bn")


def test_an_unknown_peer_is_refused() -> None:
    with pytest.raises(ConfigError, match="--peers 'lightningg' does not exist; did you mean 'lightning'"):
        SCRIPT["main"](["step", "--peers", "lightningg"])


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_held_loop_takes_the_steps_of_a_turn(ahead: int) -> None:
    """Whether it fetches a batch ahead or not."""
    taken: list[int] = []

    def train(batches: Iterator[int]) -> None:
        waiting = [next(batches) for _ in range(ahead)]
        for number in batches:
            waiting.append(number)
            taken.append(waiting.pop(0))

    held = Held(train, lambda number: number, 3)  # type: ignore[arg-type]
    held()
    assert len(taken) == 3 - ahead
    held()
    held.close()
    assert taken[: 6 - ahead] == [0, 1, 2, 0, 1, 2][: 6 - ahead]
    assert len(taken) == 6 - ahead


def test_an_error_in_a_held_loop_is_raised_to_whoever_takes_a_turn() -> None:
    def train(batches: Iterator[int]) -> None:
        raise ZeroDivisionError

    held = Held(train, lambda number: number, 3)  # type: ignore[arg-type]
    with pytest.raises(ZeroDivisionError):
        held()
    held.close()


@pytest.mark.slow
def test_sides_in_processes_of_their_own(overrides: list[str]) -> None:
    found = step.measured("a name", bare, overrides, 7, 1, "CPU time", apart=True)
    assert len(found["comparison"].ratios) == 7
    assert found["ours"]["parameters"] == found["theirs"]["parameters"] > 0


@pytest.mark.slow
def test_peak_memory_of_both_sides(overrides: list[str]) -> None:
    peaks = memory.peaks(ours.configured(*overrides), ["log=file", *overrides], 1)
    for side in ("bare", "ours"):
        assert peaks[side]["peak"] >= peaks[side]["before"] > 50
