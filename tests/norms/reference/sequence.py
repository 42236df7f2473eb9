"""Norms over the positions of an example, in loops."""

from tests.norms.reference.case import Case, Table, Token, biased_variance, mean, reference


@reference("ln_seq")
def sentence(case: Case) -> Table:
    """All values of an example, those of pads as well; γ and β a feature, or a position and feature."""
    table = {}
    for b, t in case.where():
        values = list(case.x_BLD[b].flatten().unbind())
        mu, divisor = mean(values), (biased_variance(values) + case.options.eps) ** 0.5
        token = [(v - mu) / divisor for v in case.x_BLD[b, t].unbind()]
        if case.options.affine and case.options.affine_shape == "full":
            token = [v * gain for v, gain in zip(token, case.parameters["weight"][t].unbind(), strict=True)]
            if case.options.bias:
                token = [v + shift for v, shift in zip(token, case.parameters["bias"][t].unbind(), strict=True)]
            table[b, t] = token
        else:
            table[b, t] = case.affine(token)
    return table


def sentences(case: Case) -> dict[int, list[Token]]:
    """The valid tokens of each example."""
    found: dict[int, list[Token]] = {}
    for (b, _), token in case.tokens(case.x_BLD).items():
        found.setdefault(b, []).append(token)
    return found


@reference("ln_seq_mask")
def valid_sentence(case: Case) -> Table:
    """All values of an example's valid tokens."""
    statistics = {}
    for b, tokens in sentences(case).items():
        values = [v for token in tokens for v in token]
        statistics[b] = mean(values), (biased_variance(values) + case.options.eps) ** 0.5
    return {
        (b, t): case.affine([(v - statistics[b][0]) / statistics[b][1] for v in token])
        for (b, t), token in case.tokens(case.x_BLD).items()
    }


@reference("instance_mask")
def instance(case: Case) -> Table:
    """One feature of an example's valid tokens."""
    statistics = {}
    for b, tokens in sentences(case).items():
        features = [list(feature) for feature in zip(*tokens, strict=True)]
        statistics[b] = [(mean(f), (biased_variance(f) + case.options.eps) ** 0.5) for f in features]
    return {
        (b, t): case.affine([(v - mu) / divisor for v, (mu, divisor) in zip(token, statistics[b], strict=True)])
        for (b, t), token in case.tokens(case.x_BLD).items()
    }
