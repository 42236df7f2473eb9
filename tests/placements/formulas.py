"""The formula of every placement, written a second time from its docstring.

`x` is the stream, `a` attention, `m` the MLP, `n` the norms by name, `layer` counts from 0 of `depth`. A new
placement needs a function here, under its catalogue name:

    @formula("name")
    def name(x, a, m, n, layer, depth): ...
"""

from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

FORMULAS: dict[str, Callable[..., Tensor]] = {}


def formula(name: str) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Register a formula under the placement's name."""

    def keep(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        FORMULAS[name] = function
        return function

    return keep


def formula_of(name: str) -> Callable[..., Tensor]:
    """The placement's formula; a placement without one fails, saying what to do."""
    if name not in FORMULAS:
        pytest.fail(
            f"placement {name!r} has no formula: write it, @formula({name!r}), in tests/placements/formulas.py",
            pytrace=False,
        )
    return FORMULAS[name]


@formula("pre")
def pre(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int) -> Tensor:
    """x + a(n1(x)), then the same with the MLP."""
    middle = x + a(n["norm1"](x))
    return middle + m(n["norm2"](middle))


@formula("post")
def post(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int) -> Tensor:
    """n1(x + a(x)), then the same with the MLP."""
    middle = n["norm1"](x + a(x))
    return n["norm2"](middle + m(middle))
