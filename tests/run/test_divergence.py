"""Divergence is a result: found, located, recorded, exit code 0; and the other ways to go on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from normtrial import run
from normtrial.config import Config
from normtrial.network.model import Transformer
from normtrial.records import RunFolder, list_runs
from tests.support import SOTU, TINY, answer, start_process

Train = Callable[[Config], float | None]


@pytest.fixture
def infect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the model that is built next carry a planted fault."""

    def planted(fault: Callable[[Transformer], Any]) -> None:
        build = run.build_model

        def built(config: Config, data: Any) -> Transformer:
            model = build(config, data)
            fault(model)
            return model

        monkeypatch.setattr(run, "build_model", built)

    return planted


def read(config: Config) -> tuple[dict[str, Any], list[dict[str, Any]], RunFolder]:
    (folder,) = list_runs(config.store)
    summary = folder.read_summary()
    assert summary is not None
    return summary, folder.read_events(), folder


def test_a_real_process_that_diverges_exits_zero_with_its_curve(cache: Path, tmp_path: Path) -> None:
    typed = [*TINY, "optim.lr=1e30", "optim.warmup_steps=0", f"cache={cache}", f"store={tmp_path}", "norm=ln"]
    ended = answer(start_process(*typed))
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    assert "diverged: nonfinite_loss" in ended.out
    (folder,) = list_runs(tmp_path)
    lines = (folder.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")) for line in lines]
    assert [row["step"] for row in rows] == [1, 2]
    assert rows[0]["train/loss_nats"] > 0
    assert rows[1]["train/loss_nats"] is None
    assert rows[1]["nonfinite"]["train/loss_nats"] == "nan"
    (event,) = folder.read_events()
    assert (event["step"], event["kind"]) == (2, "nonfinite_loss")
    assert event["site"] is not None
    assert event["detail"]["pass"] == "forward"
    summary = folder.read_summary()
    assert summary is not None
    assert (summary["status"], summary["reason"], summary["steps"]) == ("diverged", "nonfinite_loss", 2)
    assert summary["events"] == {"nonfinite_loss": 1}
    assert (folder.path / "curves.png").stat().st_size > 1000


def test_a_diverged_run_is_a_result_and_not_taken_up_again(
    trial: Callable[..., Config], train: Train, capsys: pytest.CaptureFixture[str]
) -> None:
    config = trial("optim.lr=1e30", "optim.warmup_steps=0")
    train(config)
    before = read(config)[2].metrics_path.read_bytes()
    capsys.readouterr()
    train(config)
    assert "is diverged already" in capsys.readouterr().out
    assert read(config)[2].metrics_path.read_bytes() == before


@pytest.mark.parametrize(
    "site", ["embed", "block00.norm1", "block01.mlp", "block01.attention", "final_norm", "head"]
)
def test_an_infinite_weight_is_found_at_its_site(
    site: str, trial: Callable[..., Config], train: Train, infect: Callable[..., None]
) -> None:
    def fault(model: Transformer) -> None:
        weight = next(model.sites()[site].parameters())
        weight.data[..., :] = float("inf")

    infect(fault)
    config = trial("model.num_layers=2")
    train(config)
    summary, (event,), _ = read(config)
    assert summary["status"] == "diverged"
    assert (event["step"], event["kind"], event["site"]) == (1, "nonfinite_loss", site)
    assert event["detail"]["pass"] == "forward"
    assert event["detail"]["output"]["num_nan"] + event["detail"]["output"]["num_inf"] > 0
    assert event["detail"]["dtype"] == "float32"


def burst_at(site: str, seeds: set[int] | None = None) -> Callable[[Transformer], Any]:
    """The gradient at the site's output becomes infinite, in steps that start from one of the random seeds."""

    def hook(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> None:
        if output.requires_grad and (seeds is None or torch.initial_seed() in seeds):
            output.register_hook(lambda gradient: gradient * float("inf"))

    return lambda model: model.sites()[site].register_forward_hook(hook)


@pytest.mark.parametrize("site", ["block00.mlp", "block01.norm1"])
def test_an_infinite_gradient_is_found_where_it_arrives(
    site: str, trial: Callable[..., Config], train: Train, infect: Callable[..., None]
) -> None:
    infect(burst_at(site))
    config = trial("model.num_layers=2")
    train(config)
    summary, (event,), folder = read(config)
    assert (summary["status"], summary["reason"]) == ("diverged", "nonfinite_grad")
    assert (event["step"], event["kind"], event["detail"]["pass"]) == (1, "nonfinite_grad", "backward")
    assert event["site"] == site
    (row,) = folder.read_metrics()
    assert row["grad/global_norm"] is None
    assert row["train/loss_nats"] > 0


@pytest.mark.parametrize("policy", ["skip", "continue"])
def test_one_bad_step_is_skipped_or_taken(
    policy: str, trial: Callable[..., Config], train: Train, infect: Callable[..., None]
) -> None:
    infect(burst_at("block00.mlp", seeds={3}))  # seed 0, step 3
    config = trial(f"train.on_nonfinite={policy}", "train.steps=5", "train.log_every=2")
    train(config)
    summary, events, folder = read(config)
    status = "finished" if policy == "skip" else "diverged"  # taken, it leaves a model that predicts nothing
    assert (summary["status"], summary["steps"]) == (status, 5)
    bad = [event for event in events if event["kind"].startswith("nonfinite")]
    assert (bad[0]["step"], bad[0]["kind"], bad[0]["site"]) == (3, "nonfinite_grad", "block00.mlp")
    losses = {row["step"]: row["train/loss_nats"] for row in folder.read_metrics() if "train/loss_nats" in row}
    assert {1, 2, 3, 4, 5} - set(losses) == set(), "a bad step is logged although its turn has not come"
    if policy == "skip":
        assert [event["step"] for event in bad] == [3]
        assert losses[4] is not None
    else:
        assert [event["step"] for event in bad] == [3, 4, 5], "the weights are broken from then on"
        assert losses[4] is None
    assert summary["events"] == {"nonfinite_grad": 1} | ({"nonfinite_loss": 2} if policy == "continue" else {}) | (
        {"plateau": 1} if "plateau" in summary["events"] else {}
    )


@pytest.mark.parametrize("policy", ["stop", "skip", "continue"])
def test_running_statistics_know_of_a_bad_step_only_if_it_was_taken(
    policy: str, trial: Callable[..., Config], train: Train, infect: Callable[..., None]
) -> None:
    """Taking the step again for its site moves nothing either."""
    models: list[Transformer] = []
    infect(burst_at("block00.mlp", seeds={3}))
    infect(models.append)
    train(trial("norm=bn", "train.steps=3", "train.eval_every=3", f"train.on_nonfinite={policy}"))
    (model,) = models
    assert int(model.get_buffer("final_norm.num_batches_tracked")) == (3 if policy == "continue" else 2)


@pytest.mark.slow
def test_learning_nothing_is_a_plateau(trial: Callable[..., Config], train: Train) -> None:
    config = trial(*SOTU, "optim.lr=1e-12", "train.steps=8", "train.eval_every=2")
    train(config)
    summary, (event,), _ = read(config)
    assert summary["status"] == "finished"
    assert summary["events"] == {"plateau": 1}, "said once"
    assert (event["step"], event["kind"], event["site"]) == (4, "plateau", None)
    assert event["detail"]["loss_nats"] >= 0.99 * event["detail"]["trivial_loss_nats"]


def test_learning_is_no_plateau(trial: Callable[..., Config], train: Train) -> None:
    changes = ["data.limit=null", "data.max_len=48", "train.steps=80", "train.eval_every=80", "optim.lr=1e-2"]
    config = trial(*changes, "data.batch_size=8")
    train(config)
    summary, events, _ = read(config)
    assert summary["metrics"]["val/loss_nats"] < 0.99 * summary["trivial"]["loss_nats"]
    assert events == []
