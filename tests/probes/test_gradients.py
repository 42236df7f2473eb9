"""Gradient norms by site."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from normtrial.probes.base import Sites
from normtrial.probes.gradients import GradientNorms
from tests.probes.toy import Scale


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
