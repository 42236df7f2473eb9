"""References of the RMSNorm family."""

from tests.norms.reference.core import Case, Table, mean, reference


@reference("rms")
def rms_norm(case: Case) -> Table:
    """Each token by the root of its mean square; eps inside the root."""
    table = {}
    for at, token in case.tokens(case.x_BLD).items():
        root = (mean([v * v for v in token]) + case.options.eps) ** 0.5
        table[at] = case.affine([v / root for v in token])
    return table
