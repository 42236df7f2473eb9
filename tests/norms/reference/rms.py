"""RMSNorm and its relatives, in loops."""

import math

from tests.norms.reference.case import Case, Table, Token, mean, reference, root


@reference("rms")
@reference("rms_bias")
@reference("rms_half")
def rms_norm(case: Case) -> Table:
    """Each token by the root of its mean square; eps inside the root."""

    def formula(token: Token) -> Token:
        divisor = (mean([v * v for v in token]) + case.options.eps) ** 0.5
        return [v / divisor for v in token]

    return case.each(formula)


@reference("rms_eps_out")
def rms_norm_eps_outside(case: Case) -> Table:
    """x / (sqrt(mean(x²)) + eps)."""

    def formula(token: Token) -> Token:
        divisor = root(mean([v * v for v in token])) + case.options.eps
        return [v / divisor for v in token]

    return case.each(formula)


@reference("prms")
def partial_rms_norm(case: Case) -> Table:
    """The mean square of the first features only."""

    def formula(token: Token) -> Token:
        counted = token[: math.ceil(case.options.share * len(token))]
        divisor = (mean([v * v for v in counted]) + case.options.eps) ** 0.5
        return [v / divisor for v in token]

    return case.each(formula)


@reference("scale")
def scale_norm(case: Case) -> Table:
    """g x / sqrt(Σ x² + eps)."""
    table = {}
    for at, token in case.tokens(case.x_BLD).items():
        divisor = (mean([v * v for v in token]) * len(token) + case.options.eps) ** 0.5
        gain = case.parameters["weight"] if case.options.affine else math.sqrt(len(token))
        table[at] = [gain * v / divisor for v in token]
    return table
