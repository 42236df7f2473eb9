"""W&B's own agent drives train.py by conf/wandb/sweep.yaml: the commands it forms, and a run that it starts."""

import itertools
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from wandb import wandb_agent
from wandb.util import load_yaml

from normtrial.config import as_dict, compose
from normtrial.dashboard.command import shipped
from normtrial.help import CONF
from normtrial.records import list_runs
from normtrial.training.metrics import find
from tests.support import ROOT, TINY, wandb_records, wandb_summary

PATH = CONF / "wandb" / "sweep.yaml"
ASSIGNED = ("WANDB_RUN_ID", "WANDB_SWEEP_PARAM_PATH", "WANDB_SWEEP_ID", "WANDB_DIR")  # what the agent sets


@pytest.fixture
def sweep() -> dict[str, Any]:
    """The YAML as W&B reads it."""
    with PATH.open(encoding="utf-8") as file:
        return load_yaml(file)


@pytest.fixture
def agent(sweep: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> wandb_agent.Agent:
    """An agent that has taken up the sweep, without a server."""
    for name in ASSIGNED:
        monkeypatch.setenv(name, "taken back after the test")
    monkeypatch.setenv("WANDB_SWEEP_ID", "abcd1234")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    made = wandb_agent.Agent(api=None, queue=None, sweep_id="abcd1234")
    made._sweep_command = sweep["command"]
    return made


def assigned(sweep: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """What the controller tells an agent to run."""
    args = {name: {"value": value} for name, value in values.items()}
    return {"type": "run", "run_id": "from_wandb", "program": str(ROOT / sweep["program"]), "args": args}


def grid(sweep: dict[str, Any]) -> list[dict[str, Any]]:
    lists = [settings["values"] for settings in sweep["parameters"].values()]
    return [dict(zip(sweep["parameters"], values, strict=True)) for values in itertools.product(*lists)]


def test_every_command_of_the_sweep_composes(
    agent: wandb_agent.Agent, sweep: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B57: a number goes through W&B's YAML and the agent's command line as that number."""
    started: list[list[str]] = []
    monkeypatch.setattr(wandb_agent, "AgentProcess", lambda command, **given: started.append(command) or _Ended())
    cells = [cell for cell in grid(sweep) if cell["seed"] == 0]
    assert len(cells) == 8
    for cell in cells:
        assert "exception" not in agent._process_command(assigned(sweep, cell))
        *start, program = started[-1][:3]
        assert (start, program) == (["/usr/bin/env", "python"], str(ROOT / "train.py"))
        config = as_dict(compose(*started[-1][3:]))
        assert (config["norm"]["name"], config["placement"]["name"]) == (cell["norm"], cell["placement"])
        assert type(config["norm"]["eps"]) is float
        assert config["norm"]["eps"] == cell["norm.eps"] in (1e-5, 1e-3)
        assert config["log"]["mode"] == "online"


class _Ended:
    last_sigterm_time = None


def test_it_goes_by_what_runs_log(sweep: dict[str, Any]) -> None:
    metric = find(sweep["metric"]["name"])
    assert metric is not None
    assert metric.direction == sweep["metric"]["goal"][:3]
    assert sweep["project"] == shipped().project


@pytest.mark.slow
def test_the_agent_starts_a_run_that_is_its_own(
    agent: wandb_agent.Agent, sweep: dict[str, Any], cache: Path, tmp_path: Path
) -> None:
    sizes = dict(size.split("=", 1) for size in TINY if size != "log=file")
    values = {"norm": "bn", "norm.eps": 1e-5, "seed": 3, **sizes, "log.mode": "offline"}
    values |= {"cache": str(cache), "store": str(tmp_path / "store")}
    assert "exception" not in agent._process_command(assigned(sweep, values))
    assert agent._run_processes["from_wandb"].wait(timeout=120) == 0
    (folder,) = list_runs(tmp_path / "store")
    shown = wandb_summary(folder.path)
    assert shown["run_id"] == "from_wandb", "which the controller waits for"
    assert shown["config"]["norm"] == shown["config"]["norm.name"] == "bn"
    assert type(shown["config"]["norm.eps"]) is float
    assert shown["config"]["norm.eps"] == 1e-5
    assert (shown["config"]["seed"], shown["summary"]["status"]) == (3, "finished")
    assert sweep["metric"]["name"] in shown["summary"]
    (told,) = wandb_records(folder.path)["run"]
    assert told["sweep_id"] == "abcd1234"
