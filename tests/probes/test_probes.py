"""All probes together: they leave no trace in training, stand on the model only when they read, and can be told.

Shapes: B examples, L positions.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normtrial.errors import ConfigError
from normtrial.network.model import Transformer
from normtrial.probes.base import OutputProbe, Probe, Probes
from normtrial.probes.catalogue import PROBES, ProbeConfig, build_probes
from normtrial.records import RunFolder
from normtrial.training.compiling import compiled
from normtrial.training.evaluation.predict import mean_loss
from normtrial.training.loop import Loop
from normtrial.training.metrics import METRICS
from tests.network.models import CLASSES, lengths_mask, model, tokens
from tests.norms.options import CONF, legal, settings
from tests.training.toy import Bag, make_loop, run

NUM_STEPS = 4
ALL = list(PROBES)
ARMS = ["ln/pre", "bn/pre", "bn/hybrid", "rbn/post", "power/pre", "bn_pos/post", "repbn/resi_dual", "ada/subln"]


def train(
    network: Transformer, task: str, names: list[str], forward: Any = None
) -> tuple[list[Tensor], list[dict]]:
    """Everything that training leaves behind, and the rows of the probes."""
    probes = build_probes(ProbeConfig(names=names, every=1), network.sites(blocks=True))
    # eps above rounding: else gradients that are 0 but for rounding (of keys' biases) move as far as others.
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01, eps=1e-6)
    forward, left, rows = network if forward is None else forward, [], []
    for step in range(1, NUM_STEPS + 1):
        torch.manual_seed(step)
        tokens_BL = tokens(step, 6, 9)
        optimizer.zero_grad()
        with probes.watching(step, step != 3):
            if task == "lm":
                loss = mean_loss(forward(tokens_BL[:, :-1], None), tokens_BL[:, 1:])
            else:
                mask_BL = lengths_mask([9, 1, 3, 5, 7, 2], 9)
                loss = mean_loss(forward(tokens_BL, mask_BL), tokens_BL[:, 0] % CLASSES)
            penalty = network.penalty()
            (loss if penalty is None else loss + penalty).backward()
        probes.measure()
        gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        rows.append(probes.after_update())
        probes.events(float(loss.detach()))
        left += [loss.detach(), *gradients, torch.get_rng_state()]
    return [*left, *(value.clone() for value in network.state_dict().values())], rows


def arm(name: str, task: str) -> Transformer:
    norm, placement = name.split("/")
    return model(norm, placement, task, model__dropout=0.2).train()


@pytest.mark.parametrize("task", ["classification", "lm"])
@pytest.mark.parametrize("name", ARMS)
def test_training_is_the_same_bit_for_bit_with_all_probes_and_with_none(name: str, task: str) -> None:
    if not legal(name.split("/")[0], task):
        pytest.skip("the norm would see the future")
    with_all, rows = train(arm(name, task), task, ALL)
    without, empty = train(arm(name, task), task, [])
    assert len(with_all) == len(without)
    assert all(map(torch.equal, with_all, without))
    assert empty == [{}] * NUM_STEPS
    assert rows[2] == {}, "not a logged step"
    assert not any(module._forward_hooks for module in arm(name, task).modules())
    for row in (rows[0], rows[-1]):
        assert all(value == value for value in row.values()), "every number is one"
        assert all(sum(metric.matches(key) for metric in METRICS) == 1 for key in row), "the table has each once"


def test_what_is_read_where() -> None:
    _, rows = train(arm("bn/pre", "classification"), "classification", ALL)
    names = set(rows[-1])
    assert {
        "grad/block01.mlp/norm",
        "update/embed/ratio",
        "stats/block00.norm1/tid_mean",
        "stats/final_norm/cv_var",
        "stream/block01/kurtosis",
        "activation/block00.norm2/max_abs",
        "activation/block00/max_abs",
        "activation/head/max_abs",
        "attention/block01.attention/entropy",
        "affine/block00.norm1/gain_sd",
        "centring/final_norm/cos_ones",
    } <= names
    _, rows = train(arm("bn/pre", "classification"), "classification", ["tid"])
    assert len(rows[-1]) == 2 * 5, "two numbers a norm"


def test_a_probe_sees_what_the_model_computes() -> None:
    """Values through the hooks equal those of a forward pass taken apart."""
    network = model("ln", "pre", model__dropout=0.0).train()
    tokens_BL, mask_BL = tokens(1, 4, 7), lengths_mask([7, 4, 2, 6], 7)
    probes = Probes({name: PROBES[name](network.sites(blocks=True)) for name in ("streams", "centring")})
    with probes.watching(1, True):
        network(tokens_BL, mask_BL)
    probes.measure()
    found = probes.after_update()
    assert network.positions is not None
    x_BLD = (network.embedding(tokens_BL) + network.positions(7)) * 16**0.5
    stream = x_BLD
    for at, block in enumerate(network.blocks):
        stream = block(stream, mask_BL, x_BLD)
        variance = stream[mask_BL].var(-1, correction=0).mean().item()
        assert found[f"stream/block{at:02d}/variance"] == pytest.approx(variance, rel=1e-5)
    cosines = nn.functional.cosine_similarity(stream[mask_BL], torch.ones(16), dim=-1)
    assert found["centring/final_norm/cos_ones"] == pytest.approx(cosines.mean().item(), rel=1e-4, abs=1e-6)


class Counting(Probe):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__({})
        self.hooked, self.last = 0, 0.0

    def hooks(self):
        self.hooked += 1
        return ()

    def measure(self):
        return {"grad/a/norm": torch.tensor(float(self.hooked))}

    def events(self, loss, row):
        self.last += 1
        return [("spike", None, {})] if row else []

    def state(self):
        return {"hooked": self.hooked}

    def load(self, state):
        self.hooked = state["hooked"]


def test_a_run_is_probed_on_the_first_and_every_nth_logged_step(tmp_path: Path) -> None:
    probe = Counting()
    probes = Probes({"counting": probe}, every=4)
    loop = make_loop(tmp_path, {"steps": 9, "log_every": 2}, probes=probes)
    run(loop)
    read = {row["step"]: row["grad/a/norm"] for row in RunFolder(tmp_path).read_metrics() if "grad/a/norm" in row}
    assert read == {1: 1, 4: 2, 8: 3}
    assert probe.last == 9, "events may come after any step"
    assert loop.progress.events["spike"] == 3


def test_what_probes_remember_goes_through_a_checkpoint(tmp_path: Path) -> None:
    plan = {"steps": 6, "log_every": 1, "checkpoint_every": 3}
    loop = make_loop(tmp_path / "a", plan, probes=Probes({"counting": Counting()}))
    run(loop)
    assert loop.s.probes.state() == {"counting": {"hooked": 6}}
    content = loop.s.checkpoints.latest()
    assert content is not None
    Loop(loop.s, content)
    assert loop.s.probes.state() == {"counting": {"hooked": 3}}
    Probes({"other": Counting()}).load(content["probes"])


def test_hooks_go_when_a_step_fails() -> None:
    bag = Bag()
    probes = Probes({"all": Everything({"bag": bag})})
    with pytest.raises(RuntimeError, match="out of memory"), probes.watching(1, True):
        assert bag._forward_hooks
        raise RuntimeError("out of memory")
    assert not bag._forward_hooks
    with probes.watching(2, False):
        assert not bag._forward_hooks


class Everything(OutputProbe):
    """Looks at every site."""

    section = "activation"

    def place(self, module: nn.Module) -> nn.Module:
        return module


def test_an_unknown_probe_is_refused_and_all_is_all() -> None:
    with pytest.raises(ConfigError, match="did you mean 'gradient_norms'"):
        ProbeConfig(names=["gradients"], every=1).check()
    with pytest.raises(ConfigError, match=r"probe\.every=0 must be at least 1"):
        ProbeConfig(names=[], every=0).check()
    assert settings("probe=all").probe.names == ALL
    assert settings("probe=default").probe.names == ["gradient_norms", "tid", "spikes"]
    assert settings("probe=none").probe.names == []
    assert {path.stem for path in (CONF / "probe").glob("*.yaml")} == {"all", "default", "none"}


def test_a_compiled_model_shows_no_forward_pass() -> None:
    with pytest.raises(ConfigError, match=r"'streams'.*compile=true.*probe=default"):
        settings("probe=all", values={"compile": True})
    assert settings("probe=default", values={"compile": True}).compile


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bn/pre", "rbn/post"])
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_the_other_probes_read_a_compiled_model(name: str) -> None:
    names = [name for name in ALL if not PROBES[name].needs_hooks]
    torch._dynamo.reset()
    network = arm(name, "lm")
    left, rows = train(network, "lm", names, compiled(network, backend="aot_eager"))
    torch._dynamo.reset()
    network = arm(name, "lm")
    without, _ = train(network, "lm", [], compiled(network, backend="aot_eager"))
    torch._dynamo.reset()
    assert all(map(torch.equal, left, without))
    _, eager = train(arm(name, "lm"), "lm", names)
    assert rows[0] == pytest.approx(eager[0], rel=1e-4)
