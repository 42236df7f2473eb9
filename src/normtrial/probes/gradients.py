"""Gradient norms by site."""

from normtrial.probes.base import Probe, Sites, Values, norms_by_site, own_parameters


class GradientNorms(Probe):
    """‖∂L/∂θ_site‖₂ over the parameters of each site, read after the backward pass and before clipping.

    Logged as `grad/<site>/norm`; a site without parameters (a norm without affine) has none. A parameter counts
    at one site only, so the squares of all sites add up to the square of the global norm.
    """

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._parameters = own_parameters(sites)

    def measure(self) -> Values:
        """One value a site."""
        gradients = {
            site: found
            for site, parameters in self._parameters.items()
            if (found := [p.grad for p in parameters if p.grad is not None])
        }
        return {f"grad/{site}/norm": norm for site, norm in norms_by_site(gradients).items()}
