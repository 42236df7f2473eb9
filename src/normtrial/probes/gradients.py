"""Gradient norms by site."""

import torch
from torch import nn

from normtrial.probes.base import Sites, own_parameters


class GradientNorms:
    """‖∂L/∂θ_site‖₂ over the parameters of each site, read after the backward pass and before clipping.

    Logged as `grad/<site>/norm`; a site without parameters (a norm without affine) has none. A parameter counts
    at one site only, so the squares of all sites add up to the square of the global norm.
    """

    def __init__(self, sites: Sites):
        self._parameters: dict[str, list[nn.Parameter]] = {
            site: parameters for site, parameters in own_parameters(sites).items() if parameters
        }

    def measure(self) -> dict[str, float]:
        """One value a site."""
        owners, gradients = [], []
        for site, parameters in self._parameters.items():
            for parameter in parameters:
                if parameter.grad is not None:
                    owners.append(site)
                    gradients.append(parameter.grad)
        squares: dict[str, float] = dict.fromkeys(owners, 0.0)
        norms = torch._foreach_norm(gradients)  # pyright: ignore[reportPrivateImportUsage]: one call, no loop
        for site, square in zip(owners, torch.stack(norms).double().square().tolist(), strict=True):
            squares[site] += square
        return {f"grad/{site}/norm": square**0.5 for site, square in squares.items()}
