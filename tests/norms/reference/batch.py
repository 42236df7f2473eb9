"""References of the BatchNorm family, centred: scalar loops over tokens, feature by feature."""

import torch
from torch import Tensor

from tests.norms.reference.core import Case, Table, Token, mean, reference, standardized

Counted = dict[tuple[int, int], Token]


def counted(case: Case, tokens: Table) -> Counted:
    """The tokens that enter the statistics; pads, where they do."""
    if case.options.padding != "include":
        return tokens
    places = [(b, t) for b in range(case.x_BLD.shape[0]) for t in range(case.x_BLD.shape[1])]
    return {at: list(case.x_BLD[at].unbind()) for at in places}


def moments(case: Case, values: list[Tensor], num_positions: int) -> tuple[Tensor, Tensor, int]:
    """μ, biased σ² and number; with `fill`, of the values and as many copies of μ as there are pads."""
    mu = mean(values)
    if case.options.padding == "fill":
        values = values + [mu] * (num_positions - len(values))
    return mu, mean([(v - mu) * (v - mu) for v in values]), len(values)


def by_batch(case: Case) -> bool:
    return case.training or case.options.eval_stats == "batch"


def remember(case: Case, name: str, at: tuple[int, ...], new: Tensor) -> None:
    """Torch's convention: momentum is the share of the new batch."""
    share = case.options.momentum
    case.state[name][at] = (1 - share) * case.state[name][at] + share * new.detach()


def unbiased(variance: Tensor, num: int) -> Tensor:
    return variance.detach() * num / (num - 1)


def statistics(case: Case, tokens: Table, num_positions: int) -> list[tuple[Tensor, Tensor]]:
    """(μ, σ²) of each feature, of the batch or remembered; in training the running ones move."""
    found = []
    for d in range(case.x_BLD.shape[-1]):
        if by_batch(case):
            values = [token[d] for token in tokens.values()]
            mu, variance, num = moments(case, values, num_positions)
            if case.training:
                remember(case, "running_mean", (d,), mu)
                remember(case, "running_var", (d,), unbiased(variance, num))
        else:
            mu, variance = case.state["running_mean"][d].clone(), case.state["running_var"][d].clone()
        found.append((mu, variance))
    return found


def normalized(case: Case, tokens: Table, entering: Table) -> Table:
    """γ (x − μ) / sqrt(σ² + eps) + β of the tokens, by statistics of those that enter."""
    found = statistics(case, entering, case.mask_BL.numel())
    if case.training:
        case.state["num_batches_tracked"] += 1
    roots = [(variance + case.options.eps) ** 0.5 for _, variance in found]
    return {
        at: case.affine([(v - mu) / r for v, (mu, _), r in zip(token, found, roots, strict=True)])
        for at, token in tokens.items()
    }


@reference("bn")
@reference("rbn")  # its fine is tested by itself: it is no part of the output
def batch_norm(case: Case) -> Table:
    """Each feature over the counted tokens of the batch, or by the running statistics."""
    tokens = case.tokens(case.x_BLD)
    return normalized(case, tokens, counted(case, tokens))


def of_unit_rms(case: Case, tokens: Table) -> Table:
    """Each token by the root of its mean square."""
    found = {}
    for at, token in tokens.items():
        root = (mean([v * v for v in token]) + case.options.eps) ** 0.5
        found[at] = [v / root for v in token]
    return found


@reference("bn_token_rms")
def token_rms_batch_norm(case: Case) -> Table:
    """BN of tokens of unit RMS."""
    tokens = case.tokens(case.x_BLD)
    return normalized(case, of_unit_rms(case, tokens), of_unit_rms(case, counted(case, tokens)))


@reference("repbn")
def progressive_batch_norm(case: Case) -> Table:
    """λ LN(x) + (1 − λ) (BN(x) + η x), λ falling with the number of batches so far."""
    share = max(0.0, 1 - case.state["num_batches_tracked"].item() / case.options.decay_steps)
    eta = case.parameters.get("eta", case.state.get("eta"))
    assert eta is not None
    batch, table = batch_norm(case), {}
    for at, token in case.tokens(case.x_BLD).items():
        layer = standardized(token, case.options.eps)
        for name, apply in (("layer_weight", torch.mul), ("layer_bias", torch.add)):
            if name in case.parameters:
                layer = [apply(v, p) for v, p in zip(layer, case.parameters[name].unbind(), strict=True)]
        table[at] = [
            share * ln + (1 - share) * (bn + eta * v) for ln, bn, v in zip(layer, batch[at], token, strict=True)
        ]
    return table


@reference("bn_pos")
def position_batch_norm(case: Case) -> Table:
    """Each feature at each position over the examples; where too few are valid, by running statistics."""
    tokens, before = case.tokens(case.x_BLD), {name: b.clone() for name, b in case.state.items()}
    entering, D = counted(case, tokens), case.x_BLD.shape[-1]
    table: Table = {}
    for t in range(case.x_BLD.shape[1]):
        here = [token for at, token in entering.items() if at[1] == t]
        enough = by_batch(case) and len(here) >= case.options.min_valid_tokens
        found = []
        for d in range(D):
            if enough:
                mu, variance, num = moments(case, [token[d] for token in here], len(case.x_BLD))
                found.append((mu, variance))
                if case.training and t < len(before["num_updates"]):
                    if before["num_updates"][t] == 0:  # starts at what all positions have
                        case.state["running_mean"][t, d] = before["pooled_mean"][d]
                        case.state["running_var"][t, d] = before["pooled_var"][d]
                    remember(case, "running_mean", (t, d), mu)
                    remember(case, "running_var", (t, d), unbiased(variance, num))
            else:
                found.append(standing_in(case, before, t, d))
        if enough and case.training and t < len(before["num_updates"]):
            case.state["num_updates"][t] += 1
        for at, token in tokens.items():
            if at[1] == t:
                roots = [(variance + case.options.eps) ** 0.5 for _, variance in found]
                table[at] = case.affine([(v - mu) / r for v, (mu, _), r in zip(token, found, roots, strict=True)])
    if case.training:
        case.state["num_batches_tracked"] += 1
        remember_pooled(case, entering)
    return table


def remember_pooled(case: Case, entering: Table) -> None:
    """Over all positions; filled pads are as many copies of their own position's mean."""
    everything = list(entering.values())
    if case.options.padding == "fill":
        for t in range(case.x_BLD.shape[1]):
            here = [token for at, token in entering.items() if at[1] == t]
            if here:
                middle = [mean(list(values)) for values in zip(*here, strict=True)]
                everything += [middle] * (len(case.x_BLD) - len(here))
    for d in range(case.x_BLD.shape[-1]):
        values = [token[d] for token in everything]
        mu = mean(values)
        remember(case, "pooled_mean", (d,), mu)
        remember(case, "pooled_var", (d,), unbiased(mean([(v - mu) ** 2 for v in values]), len(values)))


def standing_in(case: Case, before: dict[str, Tensor], t: int, d: int) -> tuple[Tensor, Tensor]:
    """Running statistics from before the batch; at a position without any, what `unseen` says."""
    seen = [s for s, num in enumerate(before["num_updates"].tolist()) if num > 0]
    if t not in seen:
        if case.options.unseen != "clamp":
            return before["pooled_mean"][d], before["pooled_var"][d]
        t = max([s for s in seen if s < t], default=min(seen, default=0))
    return before["running_mean"][t, d], before["running_var"][t, d]
