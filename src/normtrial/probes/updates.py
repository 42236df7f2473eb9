"""How far one step moves the parameters of a site."""

import torch
from torch import Tensor

from normtrial.probes.base import Probe, Sites, Values, norms_by_site, own_parameters


class UpdateRatios(Probe):
    """‖ΔW‖₂ / ‖W‖₂ over the parameters of each site, W after the step; about 1e-3 is usual for AdamW.

    Logged as `update/<site>/ratio`. Weight decay is part of ΔW; a step that is left out has ratio 0, and the first
    one away from 0 ratio 1. A probed step keeps a copy of the parameters, whatever the optimizer.
    """

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._parameters = {site: own for site, own in own_parameters(sites).items() if own}
        self._before: dict[str, list[Tensor]] = {}

    def measure(self) -> Values:
        """Copy the parameters; nothing can be said yet."""
        self._before = {site: [p.detach().clone() for p in own] for site, own in self._parameters.items()}
        return {}

    def after_update(self) -> Values:
        """One value a site."""
        moved = {
            site: [new.detach() - old for new, old in zip(self._parameters[site], before, strict=True)]
            for site, before in self._before.items()
        }
        self._before = {}
        change, size = norms_by_site(moved), norms_by_site(self._parameters)
        tiny = torch.finfo(torch.float64).tiny  # 0 / 0, where nothing moved away from 0, is 0
        return {f"update/{site}/ratio": change[site] / size[site].clamp(min=tiny) for site in moved}
