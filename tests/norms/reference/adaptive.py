"""Norms whose gain depends on a condition or on the token itself, in loops."""

from collections.abc import Callable

from torch import Tensor

from tests.norms.reference.case import Case, Table, Token, mean, reference, root, standardized, unbiased_variance


def linear(case: Case, condition: Token) -> list[Tensor]:
    """W c + b."""
    rows = zip(case.parameters["modulation.weight"], case.parameters["modulation.bias"], strict=True)
    return [sum((w * c for w, c in zip(row, condition, strict=True)), b) for row, b in rows]


def modulated(case: Case, formula: Callable[[Token], Token]) -> Table:
    """(1 + Δγ) x̂ + β, where (Δγ, β) = W c + b; c the token's condition or its mean over the sentence."""
    conditions, table = case.tokens(case.cond_BLD), {}
    for at, token in case.tokens(case.x_BLD).items():
        y = formula(token)
        if "modulation.weight" in case.parameters:
            condition = conditions[at]
            if case.options.condition == "sequence":
                sentence = [c for place, c in conditions.items() if place[0] == at[0]]
                condition = [mean(list(feature)) for feature in zip(*sentence, strict=True)]
            wc = linear(case, condition)
            y = [(1 + wc[d]) * y[d] + wc[len(y) + d] for d in range(len(y))]
        table[at] = y
    return table


@reference("ada")
def adaptive_layer_norm(case: Case) -> Table:
    """x̂ as in LayerNorm."""
    return modulated(case, lambda token: standardized(token, case.options.eps))


@reference("ada_rms")
def adaptive_rms_norm(case: Case) -> Table:
    """x̂ as in RMSNorm."""

    def formula(token: Token) -> Token:
        divisor = (mean([v * v for v in token]) + case.options.eps) ** 0.5
        return [v / divisor for v in token]

    return modulated(case, formula)


@reference("ada_scalar")
def adaptive_by_scalars(case: Case) -> Table:
    """(1 + Δγ) x̂ + β; the document's: γ (x − μ) / s + β."""
    conditions, table = case.tokens(case.cond_BLD), {}
    for at, token in case.tokens(case.x_BLD).items():
        if case.options.faithful:
            mu, divisor = mean(token), root(unbiased_variance(token))
            y = [(v - mu) / divisor for v in token]
        else:
            y = standardized(token, case.options.eps)
        if case.options.affine:
            gain, shift = linear(case, conditions[at])
            y = [(gain if case.options.faithful else 1 + gain) * v + shift for v in y]
        table[at] = y
    return table


@reference("adanorm")
def ada_norm(case: Case) -> Table:
    """C (1 − k x̂) x̂, the factor a number."""
    table = {}
    for at, token in case.tokens(case.x_BLD).items():
        y = standardized(token, case.options.eps)
        table[at] = [case.options.scale * (1 - case.options.k * v.item()) * v for v in y]
    return table
