"""References of the adaptive family."""

from tests.norms.reference.core import Case, Table, mean, reference, standardized


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
