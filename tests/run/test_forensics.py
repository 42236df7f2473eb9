"""A bad step has a name: where, by which operation, from what; and it can be taken again anywhere."""

import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normtrial.config import Config
from normtrial.network.model import Transformer
from normtrial.training.nonfinite.replay import read_bundle
from tests.run.faults import (
    Fault,
    activation_overflows,
    at_step,
    batch_overflows,
    constant_tokens,
    gradient_overflows,
    large_tokens,
    loss_overflows,
    record,
)
from tests.support import ROOT

Train = Callable[[Config], float | None]
SHORT = ("train.steps=8", "train.eval_every=8", "model.dropout=0")
# fault, options, (kind, site, pass, op); float64 would bear each of them
PLANTED: list[tuple[Fault, list[str], tuple[str, str, str, str]]] = [
    (loss_overflows, [], ("nonfinite_loss", "loss", "forward", "_log_softmax")),
    (activation_overflows, [], ("nonfinite_loss", "block00.mlp", "forward", "addmm")),
    (
        gradient_overflows,
        ["norm.eps=1e-30"],
        ("nonfinite_grad", "block00.norm1", "backward", "native_layer_norm_backward"),
    ),
    (batch_overflows, ["norm=bn"], ("nonfinite_loss", "block00.norm1", "forward", "batch_norm_update_stats")),
]


def test_a_planted_fault_is_found_and_repeated_in_a_fresh_process(
    trial: Callable[..., Config], train: Train, tmp_path: Path
) -> None:
    bundles: list[Path] = []
    for fault, options, told in PLANTED:
        config = trial(*SHORT, *options, f"store={tmp_path / fault.__name__}")
        with at_step(7, fault):
            train(config)
        summary, (event,), folder = record(config)
        detail = event["detail"]
        assert (summary["status"], summary["steps"], event["step"]) == ("diverged", 7, 7)
        assert (event["kind"], event["site"], detail["pass"], detail["op"]) == told, fault.__name__
        assert detail["reproduced"] is True
        assert detail["finite_in_float64"] is True
        assert detail["bundle"] == "nonfinite/step-00000007"
        assert detail["input"]["max_abs"] is not None
        assert detail["eps"] == (config.norm.eps if "norm" in told[1] else None)  # type: ignore[attr-defined]
        bundles.append(folder.path / detail["bundle"])
    script = [sys.executable, "scripts/replay.py", "--device", "cpu", *map(str, bundles)]
    ended = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stderr) == (0, "")
    said = [line for line in ended.stdout.splitlines() if line.startswith("first here: ")]
    for line, (_, _, (_, site, direction, op)) in zip(said, PLANTED, strict=True):
        assert line.startswith(f"first here: {site}, {direction} pass, {op}")
    assert ended.stdout.count("in float64: nothing; loss") == len(PLANTED)


def test_a_run_that_goes_on_with_broken_weights_keeps_three_bundles(
    trial: Callable[..., Config], train: Train
) -> None:
    config = trial(*SHORT, "train.on_nonfinite=continue")
    with at_step(2, activation_overflows):
        train(config)
    _, events, folder = record(config)
    bad = [event for event in events if event["kind"] == "nonfinite_loss"]
    assert [event["step"] for event in bad] == list(range(2, 9))
    assert ["bundle" in event["detail"] for event in bad] == [True] * 3 + [False] * 4
    assert len(list((folder.path / "nonfinite").iterdir())) == 3
    start, about = read_bundle(folder.path / "nonfinite" / "step-00000002")
    assert (start.step, start.seed, about["kind"]) == (2, 0, "nonfinite_loss")
    assert all(tensor.isfinite().all() for tensor in start.tensors.values()), "weights from before the step"
    rows = folder.read_metrics()
    counted = {row["step"]: row["events/nonfinite_loss"] for row in rows if "train/loss_nats" in row}
    assert counted == {step: max(0, step - 1) for step in range(1, 9)}
    assert all(
        type(row[f"events/{kind}"]) is int
        for row in rows
        if "optim/lr" in row
        for kind in ("spike", "scaler_skip")
    )


def first_step(config: Config, fault: Callable[[Transformer], Any], train: Train) -> list[dict[str, Any]]:
    with at_step(1, fault):
        train(config)
    return record(config)[1]


HALF = ("precision=fp16_pure", "train.steps=2", "train.eval_every=2", "model.dropout=0")


@pytest.mark.filterwarnings("ignore:norm.eps=1e-06 is 1.013e-06 in float16")
@pytest.mark.parametrize("norm", ["rms_half", "ln"])
def test_tokens_that_overflow_a_half_precision_rms_are_named_dead(
    norm: str, trial: Callable[..., Config], train: Train
) -> None:
    events = first_step(trial(*HALF, f"norm={norm}"), large_tokens, train)
    if norm == "ln":
        assert [event["kind"] for event in events if event["kind"] != "plateau"] == []
        return
    assert (events[0]["kind"], events[0]["step"], events[0]["site"]) == ("dead_output", 1, "block00.norm1")
    detail = events[0]["detail"]
    assert 0 < detail["num_dead_tokens"] <= detail["num_positions"] == 4 * 16
    assert detail["input"]["dtype"] == "float16"
    assert detail["input"]["variance"] > 300**2
    assert [event["kind"] for event in events].count("dead_output") == 1, "said once"


@pytest.mark.parametrize("norm", ["ln_std_eps", "ln"])
def test_a_constant_token_has_a_gradient_of_one_over_eps(
    norm: str, trial: Callable[..., Config], train: Train
) -> None:
    """eps = 1e-8 outside the root: 1e8, more than float16 holds; inside it 1e4."""
    events = first_step(trial(*HALF, f"norm={norm}", "norm.eps=1e-8"), constant_tokens, train)
    if norm == "ln":
        assert [event["kind"] for event in events if event["kind"] != "plateau"] == []
        return
    event = events[0]
    assert (event["kind"], event["site"], event["detail"]["pass"]) == (
        "nonfinite_grad",
        "block00.norm1",
        "backward",
    )
    assert (event["detail"]["dtype"], event["detail"]["eps"]) == ("float16", 1e-8)
    assert event["detail"]["input"]["variance"] == 0
    assert event["detail"]["finite_in_float64"] is True


def test_the_first_module_whose_activations_overflow_is_named(trial: Callable[..., Config], train: Train) -> None:
    """A residual stream of some 1e4 in float16, to which a sublayer adds once too often."""

    def fault(model: Transformer) -> None:
        large_tokens(model)
        model.embedding.weight.mul_(25)
        model.get_parameter("blocks.0.attention.output.bias").fill_(6e4)

    (event,) = first_step(trial(*HALF, "norm=ln"), fault, train)
    assert (event["kind"], event["site"], event["detail"]["op"]) == ("nonfinite_loss", "blocks.0.placement", "add")
    assert event["detail"]["module"] == "blocks.0.placement"
    assert max(given["max_abs"] for given in event["detail"]["operands"]) >= 6e4
    assert event["detail"]["output"]["num_inf"] > 0


def test_an_overflow_by_scaling_is_no_bad_step_and_the_schedule_waits(
    trial: Callable[..., Config], train: Train
) -> None:
    """The factor falls until the gradients fit; weights and running statistics of skipped steps stay."""
    config = trial("precision=fp16", "precision.initial_scale=1e6", "norm=bn", "train.eval_every=6")
    train(config)
    summary, events, folder = record(config)
    skipped = [event for event in events if event["kind"] == "scaler_skip"]
    assert 0 < len(skipped) < 6
    assert [event["step"] for event in skipped] == list(range(1, len(skipped) + 1))
    assert [event["detail"]["scale"] for event in skipped] == [1e6 / 2**n for n in range(len(skipped))]
    assert all(event["detail"]["dtype"] == "float16" for event in skipped)
    assert (summary["status"], summary["updates"]) == ("finished", 6 - len(skipped))
    assert set(summary["events"]) <= {"scaler_skip", "plateau"}
    rows = [row for row in folder.read_metrics() if "optim/lr" in row]
    rates = [row["optim/lr"] for row in rows]
    assert len(set(rates[: len(skipped) + 1])) == 1, "a skipped step's rate is tried again"
    assert rates[len(skipped) + 1] > rates[0]
    assert rows[-1]["events/scaler_skip"] == len(skipped)
    assert not (folder.path / "nonfinite").exists()


def test_a_gradient_that_unscaled_overflows_as_well_is_a_bad_step(
    trial: Callable[..., Config], train: Train
) -> None:
    config = trial("precision=fp16", "norm.eps=1e-30", *SHORT)
    with at_step(2, gradient_overflows):
        train(config)
    _, events, _ = record(config)
    named = [event for event in events if event["step"] == 2]
    assert [(event["kind"], event["site"]) for event in named] == [("nonfinite_grad", "block00.norm1")]


def test_events_are_strict_json(trial: Callable[..., Config], train: Train) -> None:
    config = trial(*SHORT)
    with at_step(1, activation_overflows):
        train(config)
    text = record(config)[2].events_path.read_text(encoding="utf-8")
    for line in text.splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert math.isfinite(json.loads(text.splitlines()[0])["detail"]["input"]["variance"])


@pytest.mark.parametrize("precision", ["fp64", "bf16_pure", "fp16_pure"])
def test_weights_and_gradients_have_the_format(precision: str, trial: Callable[..., Config], train: Train) -> None:
    models: list[Transformer] = []
    config = trial(f"precision={precision}", "norm=bn", "train.steps=3", "train.eval_every=3")
    with at_step(3, models.append):
        train(config)
    summary, _, _ = record(config)
    assert summary["status"] == "finished"
    tensors = (*models[0].parameters(), *models[0].buffers(), *(p.grad for p in models[0].parameters()))
    dtypes = {tensor.dtype for tensor in tensors if tensor is not None and tensor.is_floating_point()}
    assert dtypes == {{"fp64": torch.float64, "bf16_pure": torch.bfloat16, "fp16_pure": torch.float16}[precision]}


def test_one_split_that_is_not_finite_makes_the_run_a_diverged_one(
    trial: Callable[..., Config], train: Train, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B49: no mean is taken over the splits that went well."""
    from normtrial.training.evaluation import evaluate as evaluations

    def scored(predictions: Any, task: str, prefix: str) -> dict[str, float]:
        return {f"{prefix}/loss_nats": math.nan if prefix == "test" else 1.0}

    monkeypatch.setattr(evaluations, "score", scored)
    config = trial("train.steps=2")
    train(config)
    summary, _, _ = record(config)
    assert (summary["status"], summary["reason"]) == ("diverged", "nonfinite_evaluation")
