"""Functions of one value, in loops."""

from tests.norms.reference.case import Case, Table, reference


@reference("dyt")
def dynamic_tanh(case: Case) -> Table:
    """tanh(α x), as (e^2αx − 1) / (e^2αx + 1)."""
    alpha = case.parameters["alpha"] if case.options.affine else case.options.alpha_init
    return case.each(lambda token: [1 - 2 / ((2 * alpha * v).exp() + 1) for v in token])


@reference("derf")
def dynamic_erf(case: Case) -> Table:
    """erf(α x + s)."""
    alpha = case.parameters["alpha"] if case.options.affine else case.options.alpha_init
    shift = case.parameters["shift"] if case.options.affine else 0.0
    return case.each(lambda token: [1 - (alpha * v + shift).erfc() for v in token])


@reference("none")
def nothing(case: Case) -> Table:
    """x."""
    return case.tokens(case.x_BLD)
