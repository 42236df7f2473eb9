"""Probes read what they say, and leave nothing behind."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normtrial.probes.base import Sites
from normtrial.probes.gradients import GradientNorms
from normtrial.probes.nonfinite import locate


class Scale(nn.Module):
    """x · weight, or x where it has no parameters."""

    def __init__(self, values: list[float] | None = None):
        super().__init__()
        self.weight = None if values is None else nn.Parameter(torch.tensor(values))

    def forward(self, x: Tensor) -> Tensor:
        return x + 0 if self.weight is None else x * self.weight


def overflow(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
    return output * math.inf


@pytest.fixture
def sites() -> Sites:
    return {"a": Scale([1.0, 2.0]), "b": Scale(), "c": Scale([3.0, 4.0])}


def backward(sites: Sites, x: list[float], loss: Callable[[Tensor], Tensor] = torch.sum) -> Callable[[], Tensor]:
    def step() -> Tensor:
        value = torch.tensor(x)
        for module in sites.values():
            module.zero_grad(set_to_none=True)
            value = module(value)
        result = loss(value)
        result.backward()
        return result

    return step


def test_gradient_norms_by_hand(sites: Sites) -> None:
    backward(sites, [1.0, 1.0])()  # d/da = c, d/dc = a
    kept = [p.grad.clone() for site in sites.values() for p in site.parameters() if p.grad is not None]
    found = {name: float(value) for name, value in GradientNorms(sites).measure().items()}
    assert found == pytest.approx({"grad/a/norm": 5.0, "grad/c/norm": math.sqrt(5.0)})
    after = [p.grad for site in sites.values() for p in site.parameters() if p.grad is not None]
    assert all(map(torch.equal, kept, after))


def test_a_site_without_gradient_has_no_norm_and_a_bad_one_stays_bad(sites: Sites) -> None:
    backward(sites, [1.0, 1.0])()
    next(sites["a"].parameters()).grad = None
    next(sites["c"].parameters()).grad = torch.tensor([math.nan, 1.0])
    found = GradientNorms(sites).measure()
    assert list(found) == ["grad/c/norm"]
    assert math.isnan(found["grad/c/norm"])


@pytest.mark.parametrize(
    ("name", "site", "direction"),
    [
        ("weight of a", "a", "forward"),
        ("weight of c", "c", "forward"),
        ("output of b", "b", "forward"),
        ("loss", "loss", "forward"),
        ("gradient at c", "c", "backward"),
        ("gradient at b", "b", "backward"),
        ("gradient of the weight of a", "a", "parameter_gradient"),
    ],
)
def test_the_first_value_that_is_not_finite_is_found(name: str, site: str, direction: str, sites: Sites) -> None:
    loss: Callable[[Tensor], Tensor] = torch.sum
    if name.startswith("weight"):
        next(sites[site].parameters()).data[1] = math.inf
    elif name == "output of b":
        sites["b"].register_forward_hook(overflow)
    elif name == "loss":
        loss = lambda value: value.sum() * math.inf  # noqa: E731
    elif name.startswith("gradient at"):
        sites[site].register_forward_hook(
            lambda module, inputs, output: output.register_hook(lambda gradient: gradient * math.inf) and None
        )
    else:
        next(sites["a"].parameters()).register_hook(lambda gradient: gradient * math.nan)
    found = locate(sites, backward(sites, [1.0, 1.0], loss))
    assert (found["site"], found["pass"]) == (site, direction)
    assert found["num_nan"] + found["num_inf"] >= 1
    assert found["dtype"] == "float32"


def test_the_finite_range_is_told(sites: Sites) -> None:
    next(sites["a"].parameters()).data = torch.tensor([math.nan, -7.0])
    assert locate(sites, backward(sites, [1.0, 1.0])) == {
        "site": "a", "pass": "forward", "num_nan": 1, "num_inf": 0, "max_abs_finite": 7.0, "dtype": "float32",
    }  # fmt: skip


def test_nothing_is_found_in_a_finite_step_and_no_hook_stays(sites: Sites) -> None:
    assert locate(sites, backward(sites, [1.0, 1.0])) == {"site": None, "pass": None}

    def fail() -> Any:
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        locate(sites, fail)
    assert not any(module._forward_hooks for module in sites.values())
