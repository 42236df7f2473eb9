"""What every norm must give: plain loops over valid tokens in float64, straight from the formulas.

Written a second time, without a single call of the code under test, in operations on scalars, so that autograd
gives the reference for gradients too. A new norm needs a function in a file of this folder, under its
catalogue name:

    @reference("name")
    def name(case: Case) -> Table: ...
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

Token = list[Tensor]  # one scalar a feature
Table = dict[tuple[int, int], Token]  # (example, position) → token


@dataclass
class Case:
    """An input with everything that a norm may look at. All tensors float64; D model width."""

    x_BLD: Tensor
    mask_BL: Tensor
    cond_BLD: Tensor
    upstream_BLD: Tensor  # the gradient that arrives from above
    options: Any
    parameters: dict[str, Tensor]
    training: bool
    state: dict[str, Tensor] = field(default_factory=dict)  # buffers; updated in training
    # A term whose gradient joins that of the output, for a backward pass that is not the forward's derivative.
    extra: Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.float64))

    def where(self) -> list[tuple[int, int]]:
        """The valid places."""
        return [(b, t) for b, row in enumerate(self.mask_BL.tolist()) for t, valid in enumerate(row) if valid]

    def tokens(self, of: Tensor) -> Table:
        """The valid tokens of x or of the condition."""
        return {place: list(of[place].unbind()) for place in self.where()}

    def each(self, formula: Callable[[Token], Token]) -> Table:
        """The formula on each valid token by itself, then γ and β."""
        return {at: self.affine(formula(token)) for at, token in self.tokens(self.x_BLD).items()}

    def affine(self, token: Token) -> Token:
        """γ and β, where there are any."""
        for name, apply in (("weight", torch.mul), ("bias", torch.add)):
            if name in self.parameters:
                token = [apply(v, p) for v, p in zip(token, self.parameters[name].unbind(), strict=True)]
        return token


REFERENCES: dict[str, Callable[[Case], Table]] = {}


def reference(name: str) -> Callable[[Callable[[Case], Table]], Callable[[Case], Table]]:
    """Register a reference under the norm's name."""

    def keep(function: Callable[[Case], Table]) -> Callable[[Case], Table]:
        REFERENCES[name] = function
        return function

    return keep


def expected(case: Case) -> Tensor:
    """The output (B, L, D), with 0 at places that are not valid."""
    name = case.options.name
    if name not in REFERENCES:
        pytest.fail(
            f"norm {name!r} has no reference: write its formula as float64 loops over valid tokens, "
            f"@reference({name!r}) in a file of tests/norms/reference/",
            pytrace=False,
        )
    table = REFERENCES[name](case)
    B, L, D = case.x_BLD.shape
    nothing = [torch.zeros((), dtype=torch.float64)] * D
    flat = [value for b in range(B) for t in range(L) for value in table.get((b, t), nothing)]
    return torch.stack(flat).view(B, L, D) if flat else case.x_BLD.clone()


def mean(values: list[Tensor]) -> Tensor:
    """Σ v / n."""
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total / len(values)


def standardized(token: Token, eps: float) -> Token:
    """(x − μ) / sqrt(σ² + eps), σ² biased."""
    mu = mean(token)
    root = (mean([(v - mu) * (v - mu) for v in token]) + eps) ** 0.5
    return [(v - mu) / root for v in token]


def biased_variance(values: list[Tensor]) -> Tensor:
    """Σ (v − μ)² / n."""
    mu = mean(values)
    return mean([(v - mu) * (v - mu) for v in values])


def unbiased_variance(values: list[Tensor]) -> Tensor:
    """Σ (v − μ)² / (n − 1)."""
    return biased_variance(values) * (len(values) / (len(values) - 1))


def root(value: Tensor) -> Tensor:
    """√v with derivative 0 at 0, as torch's `std` and `vector_norm` have it."""
    return value**0.5 if value != 0 else value * 0
