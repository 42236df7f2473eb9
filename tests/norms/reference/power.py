"""References of PowerNorm and PowerNorm-V: scalar loops over tokens, feature by feature."""

from torch import Tensor

from tests.norms.reference.batch import by_batch, counted, of_unit_rms, remember
from tests.norms.reference.case import Case, Table, mean, reference


def prepared(case: Case) -> tuple[Table, Table]:
    """The tokens, and those that enter ψ²_B, after the token's RMS where that is wanted."""
    tokens = case.tokens(case.x_BLD)
    both = tokens, counted(case, tokens)
    return (of_unit_rms(case, both[0]), of_unit_rms(case, both[1])) if case.options.token_rms else both


def divided(case: Case, tokens: Table, squares: list[Tensor]) -> Table:
    """γ x / sqrt(ψ² + eps) + β."""
    roots = [(square + case.options.eps) ** 0.5 for square in squares]
    return {at: case.affine([v / r for v, r in zip(token, roots, strict=True)]) for at, token in tokens.items()}


def batch_squares(case: Case, entering: Table) -> list[Tensor]:
    """ψ²_B of each feature; in training the running ones move."""
    found = []
    for d in range(case.x_BLD.shape[-1]):
        found.append(mean([token[d] * token[d] for token in entering.values()]))
        if case.training:
            remember(case, "running_square", (d,), found[d])
    return found


@reference("power_v")
def power_norm_v(case: Case) -> Table:
    """By the batch's ψ², or by the running one."""
    tokens, entering = prepared(case)
    running = list(case.state["running_square"].clone().unbind())
    squares = batch_squares(case, entering) if by_batch(case) else running
    if case.training:
        case.state["num_batches_tracked"] += 1
    return divided(case, tokens, squares)


@reference("power")
def power_norm(case: Case) -> Table:
    """By the running ψ² in training too; autograd gives g / ψ_B from how x̂ is written, `extra` the rest."""
    if not case.training:
        return power_norm_v(case)
    tokens, entering = prepared(case)
    running = list(case.state["running_square"].clone().unbind())
    warm = case.state["num_batches_tracked"].item() >= case.options.warmup_steps
    psi_B = [(square.detach() + case.options.eps) ** 0.5 for square in batch_squares(case, entering)]
    psi = [(square + case.options.eps) ** 0.5 for square in running] if warm else psi_B
    case.state["num_batches_tracked"] += 1
    gain = case.parameters["weight"].detach() if "weight" in case.parameters else [1.0] * len(psi)
    table: Table = {at: [] for at in tokens}
    for d, nu in enumerate(case.state["running_gradient"].clone().unbind()):
        products = []
        for at, token in entering.items():
            hat, value = token[d].detach() / psi[d], token[d]
            correction = case.options.momentum_backward * nu * hat
            case.extra = case.extra - correction * value / psi_B[d]
            products.append((case.upstream_BLD[at][d] * gain[d] - correction) * hat)
            if at in table:
                table[at].append(hat + (value - value.detach()) / psi_B[d])
        case.state["running_gradient"][d] = nu + mean(products)
    return {at: case.affine(token) for at, token in table.items()}
