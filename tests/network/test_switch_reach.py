"""No dead switches: every option of every norm, placement and model file changes the model, and the run id; every
option of evaluation changes the metrics.

Dead switches are the commonest defect of published norm code: an eps that reaches some instances only, a flag that
nobody reads. So each option is set to another allowed value, and the modules or the numbers must differ.
"""

from collections.abc import Callable, Iterator
from functools import cache as remembered
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from normtrial.assemble import build_model, build_shifts
from normtrial.config import Config
from normtrial.data import catalogue
from normtrial.errors import ConfigError
from normtrial.identity import run_id
from normtrial.network.model import Transformer
from normtrial.probes.catalogue import ProbeConfig, build_probes
from normtrial.training.evaluation.evaluate import evaluate
from normtrial.training.evaluation.predict import mean_loss
from normtrial.training.evaluation.shifts import EvalConfig
from tests.network.models import CLASSES, SMALL, build, disturb, lengths_mask, model, tokens
from tests.norms.options import CONF, TASKS, chosen, leaves, other_values, settings
from tests.training.toy import make_loop

GROUPS = ("norm", "placement", "model")
FILES = [(group, path.stem) for group in GROUPS for path in sorted((CONF / group).glob("*.yaml"))]
Evidence = dict[str, Any]
SIZE = {**SMALL, "model.num_layers": 4, "model.dropout": 0.1}  # what has something to share, and something to drop
# Options that a single step shows at certain values only: more tokens than a batch has, no warm-up at all.
TELLING = {"norm.min_valid_tokens": 1000, "norm.warmup_steps": 0, "norm.decay_steps": 1}
PROBE_SWITCHES: dict[str, Any] = {"names": ["batch_statistics"], "every": 2}
BETWEEN_PROCESSES = {"norm.sync"}  # where there is one it does nothing: tests/norms/test_sync.py has two
WITHOUT_TRACE = {"model.checkpoint_activations"}  # costs time for memory: tests/network/test_recompute.py


def switches() -> list[tuple[str, str, str]]:
    """Every (group, file, option) there is."""
    return [
        (group, file, leaf)
        for group, file in FILES
        for leaf in leaves(getattr(settings(*chosen(group, file)), group))
        if f"{group}.{leaf}" not in WITHOUT_TRACE
    ]


def tree(network: Transformer) -> list[str]:
    """Modules by name and class, parameters and buffers by name and shape."""
    modules = [f"{name}: {type(module).__name__}" for name, module in network.named_modules()]
    tensors = (*network.named_parameters(), *network.named_buffers())
    return modules + [f"{name}: {tuple(tensor.shape)}" for name, tensor in tensors]


def numbers(network: Transformer, task: str) -> Tensor:
    """Logits, gradients and buffers of two training steps, and logits at evaluation, in one long vector."""
    disturb(network)
    torch.manual_seed(0)  # dropout
    tokens_BL, mask_BL = tokens(0), None if task == "lm" else lengths_mask([7, 4, 2, 6], 7)
    found: list[Tensor] = []
    for _ in range(2):  # some statistics are used from the second step on
        logits = network.train()(tokens_BL, mask_BL)
        loss = mean_loss(logits, tokens_BL if task == "lm" else tokens_BL[:, 0] % CLASSES)
        penalty = network.penalty()
        (loss if penalty is None else loss + penalty).backward()
        found.append(logits)
    gradients = [p.grad for p in network.parameters() if p.grad is not None]
    found += [*gradients, *network.buffers(), network.eval()(tokens_BL, mask_BL)]
    return torch.cat([tensor.detach().double().flatten() for tensor in found])


def evidence(choice: tuple[str, ...], values: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What can be seen of a choice of options where it is not refused: the cheapest first."""
    for task, data in TASKS.items():
        try:
            config = settings(*choice, data, values={**SIZE, **values})
        except ConfigError:
            continue
        yield f"{task} tree", tree(build(config))
        for half in (False, True):
            try:
                with torch.autocast("cpu", torch.bfloat16, enabled=half):  # as `precision=bf16` does
                    yield f"{task} numbers, half precision {half}", numbers(build(config), task)
            except ValueError as refused:
                yield f"{task} numbers, half precision {half}", str(refused)


@remembered
def shipped(choice: tuple[str, ...]) -> Evidence:
    return dict(evidence(choice, {}))


def differs(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape != other.shape or not torch.equal(one, other)
    return one != other


def identity(choice: tuple[str, ...], data: str, values: dict[str, Any]) -> str:
    try:
        return run_id(settings(*choice, data, values={**SIZE, **values}), "data")
    except ConfigError:
        return "refused"


@pytest.mark.parametrize(("group", "file", "leaf"), switches())
def test_switch_reaches_the_model_and_the_run_id(group: str, file: str, leaf: str) -> None:
    choice, key = chosen(group, file), f"{group}.{leaf}"
    value = getattr(getattr(settings(*choice, values=SIZE), group), leaf)
    others = {data: other_values(key, value, *choice, data, values=SIZE) for data in TASKS.values()}
    data = next((data for data, found in others.items() if found), None)
    assert data, f"{key} can have one value only: no switch"
    changed = {key: TELLING.get(key, others[data][0])}
    assert identity(choice, data, changed) != identity(choice, data, {})
    if key in BETWEEN_PROCESSES:
        return
    before = shipped(choice)
    assert any(differs(value, before.get(name)) for name, value in evidence(choice, changed)), (
        f"{changed} changes neither modules nor numbers: a dead switch"
    )


def test_switches_of_the_probes_reach_what_is_read_and_no_number() -> None:
    """They change neither the model nor the run id, so what they reach is what a step measures."""

    def read(**changes: Any) -> list[str]:
        config = settings("norm=bn", "probe=default", values={f"probe.{key}": v for key, v in changes.items()})
        assert run_id(config, "data") == run_id(settings("norm=bn"), "data")
        network = model("bn", "pre")
        probes = build_probes(config.probe, network.sites(blocks=True))
        network(tokens(0))
        with probes.watching(3, True):
            pass
        probes.measure()
        return list(probes.after_update())

    before = read()
    assert before, "a logged step is probed"
    assert {name: read(**{name: other}) != before for name, other in PROBE_SWITCHES.items()} == dict.fromkeys(
        leaves(ProbeConfig), True
    )


EVAL = {  # each option's other value, and what must be on for it to be seen
    "when": ("always", {"batch_size": 2}),
    "seed": (1, {"shuffle_words": 0.5}),
    "shuffle_words": (0.5, {}),
    "drop_words": (0.5, {}),
    "max_len": (8, {}),
    "batch_size": (2, {}),
    "noise": (0.5, {}),
    "length_buckets": (2, {}),
    "one_class_batches": (True, {}),
    "streaming": (True, {}),
}


@pytest.mark.parametrize("leaf", leaves(EvalConfig))
def test_switch_of_evaluation_reaches_the_metrics_and_the_run_id(
    leaf: str, trial: Callable[..., Config], cache: Path, tmp_path: Path
) -> None:
    value, others = EVAL[leaf]
    needed = [f"eval.{name}={other}" for name, other in others.items()]
    found = []
    for number, changes in enumerate(([], [f"eval.{leaf}={value}"])):
        config = trial("norm=bn", *needed, *changes)
        data = catalogue.load(config.data, cache)
        network = build_model(config, data)
        shifts = build_shifts(config, network)
        setup = make_loop(tmp_path / str(number), model=network, data=data, shifts=shifts).s
        setup.sinks.finish({})  # nothing is recorded here
        rows = [evaluate(setup, "val", step) for step in (1, setup.train.steps)]
        found.append((run_id(config, "data"), rows))
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]


@pytest.mark.slow
def test_the_same_options_give_the_same_evidence() -> None:
    """Otherwise every switch would seem to reach something."""
    for group, file in FILES:
        choice = chosen(group, file)
        for name, value in evidence(choice, {}):
            assert not differs(value, shipped(choice)[name]), (choice, name)


def test_a_planted_dead_switch_is_found() -> None:
    """`train.log_every` is none of the model's: neither modules nor numbers may differ."""
    before = shipped(("norm=ln",))
    assert not any(differs(v, before[name]) for name, v in evidence(("norm=ln",), {"train.log_every": 7}))
