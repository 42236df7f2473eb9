"""References of the LayerNorm family."""

from tests.norms.reference.core import Case, Table, reference, standardized


@reference("ln")
def layer_norm(case: Case) -> Table:
    """Each token over its features."""
    return {
        at: case.affine(standardized(token, case.options.eps)) for at, token in case.tokens(case.x_BLD).items()
    }
