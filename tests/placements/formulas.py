"""The formula of every placement, written a second time from its docstring.

`x` is the stream, `a` attention, `m` the MLP, `n` the norms by name, `layer` counts from 0 of `depth`; `o` has the
placement's options and parameters by name. A new placement needs a function here, under its catalogue name:

    @formula("name")
    def name(x, a, m, n, layer, depth, o): ...

How the stream begins and what the head sees of it are `entered` and `left`.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
from torch import Tensor

FORMULAS: dict[str, Callable[..., Any]] = {}


def formula(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a formula under the placement's name."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        FORMULAS[name] = function
        return function

    return keep


def formula_of(name: str) -> Callable[..., Any]:
    """The placement's formula; a placement without one fails, saying what to do."""
    if name not in FORMULAS:
        pytest.fail(
            f"placement {name!r} has no formula: write it, @formula({name!r}), in tests/placements/formulas.py",
            pytrace=False,
        )
    return FORMULAS[name]


@formula("pre")
def pre(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + a(n1(x)), then the same with the MLP."""
    middle = x + a(n["norm1"](x))
    return middle + m(n["norm2"](middle))


@formula("post")
def post(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """n1(x + a(x)), then the same with the MLP."""
    middle = n["norm1"](x + a(x))
    return n["norm2"](middle + m(middle))


@formula("res_post")
def res_post(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + n1(a(x)), then the same with the MLP."""
    middle = x + n["norm1"](a(x))
    return middle + n["norm2"](m(middle))


@formula("pre_attn_only")
def pre_attn_only(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + a(n1(x)), then the MLP on the raw stream."""
    middle = x + a(n["norm1"](x))
    return middle + m(middle)


@formula("sandwich")
@formula("peri")
def sandwich(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + n2(a(n1(x))), then the same with the MLP."""
    middle = x + n["norm2"](a(n["norm1"](x)))
    return middle + n["norm4"](m(n["norm3"](middle)))


@formula("subln")
def subln(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """Pre outside the sublayers."""
    middle = x + a(n["norm1"](x))
    return middle + m(n["norm2"](middle))


@formula("deepnorm")
def deepnorm(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """n1(α x + a(x)) with α⁴ = 2 depth, then the same with the MLP."""
    alpha = math.sqrt(math.sqrt(2 * depth))
    middle = n["norm1"](alpha * x + a(x))
    return n["norm2"](alpha * middle + m(middle))


@formula("lns")
def lns(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + a(n1(x) / sqrt(ℓ)), ℓ from 1, then the same with the MLP."""
    middle = x + a(n["norm1"](x) / math.sqrt(layer + 1))
    return middle + m(n["norm2"](middle) / math.sqrt(layer + 1))


@formula("mix")
def mix(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """Post up to the share of the blocks, at least in the first; then Pre."""
    early = layer == 0 or layer + 1 <= o["share"] * depth
    return (post if early else pre)(x, a, m, n, layer, depth, o)


@formula("hybrid")
def hybrid(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """y = x + a(x); n1(y) + m(n1(y))."""
    middle = n["norm1"](x + a(x))
    return middle + m(middle)


@formula("resi_dual")
def resi_dual(x: Any, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> tuple[Tensor, Tensor]:
    """Post in the first stream; the second adds the branches up."""
    first, second = x
    middle = n["norm1"](first + a(first))
    return n["norm2"](middle + m(middle)), second + a(first) + m(middle)


@formula("rezero")
def rezero(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + gate1 a(x), then the same with the MLP."""
    middle = x + o["gate1"] * a(x)
    return middle + o["gate2"] * m(middle)


@formula("none")
def none(x: Tensor, a: Any, m: Any, n: Any, layer: int, depth: int, o: dict) -> Tensor:
    """x + a(x), then the same with the MLP."""
    middle = x + a(x)
    return middle + m(middle)


def entered(name: str, x: Tensor) -> Any:
    """What the first block gets of the embedding."""
    return (x, x) if name == "resi_dual" else x


def left(name: str, stream: Any, final: Callable[[Tensor], Tensor]) -> Tensor:
    """What the head gets of the last block's stream."""
    return stream[0] + final(stream[1]) if name == "resi_dual" else final(stream)
