"""What every norm must give: plain loops over valid tokens in float64, straight from the formulas.

Written a second time, without a single call of the code under test, in operations on scalars, so that autograd
gives the reference for gradients too. A new norm needs a function here, under its catalogue name:

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
    options: Any
    parameters: dict[str, Tensor]
    training: bool
    state: dict[str, Tensor] = field(default_factory=dict)  # running statistics; updated in training

    def where(self) -> list[tuple[int, int]]:
        """The valid places."""
        return [(b, t) for b, row in enumerate(self.mask_BL.tolist()) for t, valid in enumerate(row) if valid]

    def tokens(self, of: Tensor) -> Table:
        """The valid tokens of x or of the condition."""
        return {place: list(of[place].unbind()) for place in self.where()}

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
            f"@reference({name!r}) in tests/norms/reference.py",
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


@reference("ln")
def layer_norm(case: Case) -> Table:
    """Each token over its features."""
    return {
        at: case.affine(standardized(token, case.options.eps)) for at, token in case.tokens(case.x_BLD).items()
    }


@reference("rms")
def rms_norm(case: Case) -> Table:
    """Each token by the root of its mean square; eps inside the root."""
    table = {}
    for at, token in case.tokens(case.x_BLD).items():
        root = (mean([v * v for v in token]) + case.options.eps) ** 0.5
        table[at] = case.affine([v / root for v in token])
    return table


@reference("ada")
def adaptive_layer_norm(case: Case) -> Table:
    """(1 + Δγ) x̂ + β, where (Δγ, β) = W c + b; c the token's condition or its mean over the sentence."""
    conditions, table = case.tokens(case.cond_BLD), {}
    for at, token in case.tokens(case.x_BLD).items():
        y = standardized(token, case.options.eps)
        if "modulation.weight" in case.parameters:
            if case.options.condition == "sequence":
                sentence = [c for place, c in conditions.items() if place[0] == at[0]]
                condition = [mean(list(feature)) for feature in zip(*sentence, strict=True)]
            else:
                condition = conditions[at]
            rows = zip(case.parameters["modulation.weight"], case.parameters["modulation.bias"], strict=True)
            wc = [sum((w * c for w, c in zip(row, condition, strict=True)), b) for row, b in rows]
            y = [(1 + wc[d]) * y[d] + wc[len(y) + d] for d in range(len(y))]
        table[at] = y
    return table


@reference("bn")
def batch_norm(case: Case) -> Table:
    """Each feature over the counted tokens of the batch, or by the running statistics."""
    tokens, config = case.tokens(case.x_BLD), case.options
    counted = list(tokens.values())
    if config.padding == "include":
        counted = [list(token.unbind()) for row in case.x_BLD for token in row]
    statistics = []
    for d in range(case.x_BLD.shape[-1]):
        if case.training or config.eval_stats == "batch":
            values = [token[d] for token in counted]
            mu = mean(values)
            variance = mean([(v - mu) * (v - mu) for v in values])
            if case.training:
                unbiased = variance.detach() * len(values) / (len(values) - 1)
                _remember(case, d, mu.detach(), unbiased)
        else:
            mu, variance = case.state["running_mean"][d].clone(), case.state["running_var"][d].clone()
        statistics.append((mu, (variance + config.eps) ** 0.5))
    return {
        at: case.affine([(v - mu) / root for v, (mu, root) in zip(token, statistics, strict=True)])
        for at, token in tokens.items()
    }


def _remember(case: Case, d: int, mu: Tensor, unbiased: Tensor) -> None:
    """Torch's convention: momentum is the share of the new batch."""
    share = case.options.momentum
    for name, new in (("running_mean", mu), ("running_var", unbiased)):
        case.state[name][d] = (1 - share) * case.state[name][d] + share * new
