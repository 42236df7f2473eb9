"""What the checks share: norms as shipped, in float64, and distances.

A check is a function without arguments that returns a number for each part of its claim. The random state is set
before each.

Shapes: B examples, L positions, D model width.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from normtrial.config.shipped import shipped
from normtrial.norms.base import Norm
from normtrial.norms.catalogue import build_norm

Parts = dict[str, float]
MEASURES: dict[str, Callable[[], Parts]] = {}


def measure(function: Callable[[], Parts]) -> Callable[[], Parts]:
    """Make a check known under its name."""
    assert function.__name__ not in MEASURES, f"two checks are called {function.__name__}"
    MEASURES[function.__name__] = function
    return function


def norm(name: str, width: int, max_len: int = 0, dtype: torch.dtype = torch.float64, **options: Any) -> Norm:
    """A norm as conf/norm/ ships it, with changes."""
    return build_norm(width, replace(shipped(name), **options), max_len).to(dtype)


def normal(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers, drawn in float64."""
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


def apart(one: Tensor, other: Tensor) -> float:
    """The largest absolute difference."""
    return (one.double() - other.double()).abs().max().item()


def raises(action: Callable[[], Any]) -> float:
    """1 where the action ends in an error, 0 where it does not."""
    try:
        action()
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return 1.0
    return 0.0


def nonfinite(x: Tensor) -> float:
    """How many values are NaN or infinite."""
    return float((~x.isfinite()).sum())


def jacobian(function: Callable[[Tensor], Tensor], x_D: Tensor) -> Tensor:
    """∂y/∂x (D, D) of one token."""
    found = torch.autograd.functional.jacobian(lambda x: function(x[None, None])[0, 0], x_D)
    assert isinstance(found, Tensor)
    return found


def gradient(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """∂ Σ y r / ∂x for fixed random r, a sum whose gradient no norm cancels."""
    x = x.clone().requires_grad_()
    y = function(x)
    weights = torch.randn(y.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(y.dtype)
    (y * weights).sum().backward()
    assert x.grad is not None
    return x.grad
