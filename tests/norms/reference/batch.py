"""BatchNorm, in loops."""

from torch import Tensor

from tests.norms.reference.case import Case, Table, mean, reference


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
