"""Watched places of a model by name, and which parameters are whose."""

from torch import nn

Sites = dict[str, nn.Module]  # by stable name ("block03.norm1"), in the order of the forward pass


def own_parameters(sites: Sites) -> dict[str, list[nn.Parameter]]:
    """Each parameter at the first site that has it: every one counts once.

    So a norm inside attention counts there, not again in attention (which ends later), and a matrix that the
    head shares with the embedding counts at the embedding.
    """
    seen: set[int] = set()
    found: dict[str, list[nn.Parameter]] = {}
    for site, module in sites.items():
        found[site] = [p for p in module.parameters() if id(p) not in seen]
        seen |= {id(p) for p in found[site]}
    return found
