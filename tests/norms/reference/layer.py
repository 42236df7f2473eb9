"""LayerNorm and the forms of it, in loops."""

from tests.norms.reference.case import (
    Case,
    Table,
    Token,
    biased_variance,
    mean,
    reference,
    root,
    standardized,
    unbiased_variance,
)


@reference("ln")
def layer_norm(case: Case) -> Table:
    """Each token over its features."""
    return case.each(lambda token: standardized(token, case.options.eps))


@reference("ln_std_eps")
def layer_norm_std(case: Case) -> Table:
    """(x − μ) / (s + eps), s unbiased."""

    def formula(token: Token) -> Token:
        mu, divisor = mean(token), root(unbiased_variance(token)) + case.options.eps
        return [(v - mu) / divisor for v in token]

    return case.each(formula)


@reference("ln_std_eps_biased")
def layer_norm_std_biased(case: Case) -> Table:
    """(x − μ) / (σ + eps), σ biased."""

    def formula(token: Token) -> Token:
        mu, divisor = mean(token), root(biased_variance(token)) + case.options.eps
        return [(v - mu) / divisor for v in token]

    return case.each(formula)


@reference("ln_alpha")
def layer_norm_alpha(case: Case) -> Table:
    """α (x − μ) / sqrt(s² + eps), s² unbiased."""

    def formula(token: Token) -> Token:
        mu, divisor = mean(token), (unbiased_variance(token) + case.options.eps) ** 0.5
        return [case.parameters.get("alpha", 1.0) * (v - mu) / divisor for v in token]

    return case.each(formula)


@reference("ln_detach")
def layer_norm_detached(case: Case) -> Table:
    """As LayerNorm, with numbers for mean and variance."""

    def formula(token: Token) -> Token:
        mu, variance = mean(token).item(), biased_variance(token).item()
        return [(v - mu) / (variance + case.options.eps) ** 0.5 for v in token]

    return case.each(formula)
