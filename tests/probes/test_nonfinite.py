"""The first operation whose result is not finite is found, and nothing that only looks like it."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from normtrial.probes.dead import DeadOutputs
from normtrial.probes.nonfinite import Watch
from tests.probes.toy import Scale

Model = nn.Sequential


class Formula(nn.Module):
    """Any function as a module, with an eps to be told about."""

    eps = 1e-8

    def __init__(self, function: Callable[[Tensor], Tensor]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def chain(*modules: nn.Module) -> Model:
    model = nn.Sequential()
    for name, module in zip("abc", modules, strict=False):
        model.add_module(name, module)
    return model


@pytest.fixture
def model() -> Model:
    return chain(Scale([1.0, 2.0]), Scale(), Scale([3.0, 4.0]))


def watched(model: Model, x: list[float], loss: Callable[[Tensor], Tensor] = torch.sum) -> tuple[Watch, dict]:
    """The watch, and what it says."""
    with Watch(model, dict(model.named_children())) as watch:
        value = loss(model(torch.tensor([x], requires_grad=True)))
        value.backward()
    return watch, watch.origin(value, [p.grad for p in model.parameters() if p.grad is not None])


def overflow(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    return output * math.inf


@pytest.mark.parametrize(
    ("name", "site", "direction", "op"),
    [
        ("weight of a", "a", "forward", "mul"),
        ("weight of c", "c", "forward", "mul"),
        ("output of b", "b", "forward", "mul"),
        ("loss", "loss", "forward", "log"),
        ("gradient at c", "c", "backward", "div"),
        ("gradient at b", "b", "backward", "div"),
        ("gradient of the weight of a", "a", "backward", "div"),
    ],
)
def test_the_first_value_that_is_not_finite_is_found(
    name: str, site: str, direction: str, op: str, model: Model
) -> None:
    loss: Callable[[Tensor], Tensor] = torch.sum
    module = model.get_submodule(site) if site != "loss" else model
    if name.startswith("weight"):
        next(module.parameters()).data[1] = math.inf
    elif name == "output of b":
        module.register_forward_hook(overflow)
    elif name == "loss":
        loss = lambda value: (value.sum() * 0).log()  # noqa: E731
    elif name.startswith("gradient at"):
        module.register_forward_hook(lambda m, i, output: output.register_hook(lambda g: g / 0) and None)
    else:
        next(module.parameters()).register_hook(lambda gradient: gradient / 0)
    _, found = watched(model, [1.0, 1.0], loss)
    assert (found["site"], found["pass"], found["op"]) == (site, direction, op)
    assert found["output"]["num_nan"] + found["output"]["num_inf"] >= 1
    assert found["dtype"] == "float32"


def test_the_input_its_eps_and_the_chain_are_told() -> None:
    """The root of a variance of 0 has no gradient: what is found is in the backward pass of that norm."""
    norm = Formula(lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True).sqrt() + Formula.eps))
    watch, found = watched(chain(Scale([7.0, 7.0]), norm, Scale([1.0, 2.0])), [1.0, 1.0])
    assert (found["site"], found["module"], found["pass"], found["node"]) == (
        "b",
        "b",
        "backward",
        "SqrtBackward0",
    )
    assert (found["eps"], found["eps_rounded"]) == (1e-8, pytest.approx(1e-8, rel=1e-6))
    told = ("min", "max", "mean", "variance", "max_abs")
    assert [found["input"][name] for name in told] == [7.0, 7.0, 7.0, 0.0, 7.0]
    sites = [(link["site"], link["pass"]) for link in watch.chain]
    assert sites == [(s, "forward") for s in "abc"] + [(s, "backward") for s in "cba"]
    assert watch.chain[0]["max_abs"] == 7.0
    assert watch.chain[-1]["num_nan"] == 2


def test_what_is_masked_out_again_is_no_cause() -> None:
    """std's gradient at 0 is 0 / 0, which torch itself replaces; a mask's -inf is meant; the log is neither."""
    std = Formula(lambda x: x.std(-1, keepdim=True).expand_as(x) * x)
    mask = torch.tensor([[True, False]])
    attention = Formula(lambda x: F.softmax(torch.where(mask, x, -math.inf), -1) + (x - 7).log())
    _, found = watched(chain(Scale([7.0, 7.0]), std, Scale([3.0, 4.0])), [1.0, 1.0])
    assert found == {"site": None, "pass": None}
    _, found = watched(chain(Scale([7.0, 7.0]), attention, std), [1.0, 1.0])
    assert (found["site"], found["op"]) == ("b", "log")


def test_nothing_is_found_in_a_finite_step_and_no_hook_stays(model: Model) -> None:
    assert watched(model, [1.0, 1.0])[1] == {"site": None, "pass": None}

    def fail(value: Tensor) -> Tensor:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        watched(model, [1.0, 1.0], fail)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_a_token_that_comes_out_as_zeros_is_dead_unless_it_was_or_is_padding() -> None:
    x_BLD = torch.tensor([[[300.0, 400.0], [1.0, 2.0], [0.0, 0.0], [500.0, 600.0]]], dtype=torch.float16)

    class Norm(nn.Module):
        eps = 1e-6

        def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None) -> Tensor:
            return x_BLD * torch.rsqrt(x_BLD.square().mean(-1, keepdim=True) + self.eps)

    norm = Norm()
    probe = DeadOutputs({"norm1": norm})
    with probe.watching():
        norm(x_BLD, torch.tensor([[True, True, True, False]]))
    found = probe.found()
    assert found is not None
    assert (found["site"], found["num_dead_tokens"], found["num_positions"], found["eps"]) == ("norm1", 1, 4, 1e-6)
    assert found["input"]["max_abs"] == 600.0
    with probe.watching():
        norm(x_BLD[:, 1:3])
    assert probe.found() is None
    assert not norm._forward_hooks


class HalfRMS(nn.Module):
    def forward(self, x_BLD: Tensor) -> Tensor:
        return x_BLD * torch.rsqrt(x_BLD.square().mean(-1, keepdim=True))


def test_micro_batches_add_up_and_recomputed_passes_do_not_count() -> None:
    norm = HalfRMS()
    probe = DeadOutputs({"norm1": norm})
    x_BLD = torch.tensor([[[300.0, 400.0], [1.0, 2.0]]], dtype=torch.float16, requires_grad=True)
    with probe.watching():
        for _ in range(2):
            # Recomputing ends with the last value that is needed: tanh's, behind the norm.
            checkpoint(lambda x: norm(x).tanh(), x_BLD, use_reentrant=False).float().sum().backward()
    found = probe.found()
    assert found is not None
    assert (found["num_dead_tokens"], found["num_positions"]) == (2, 4)
