"""Gains and shifts of the norms, and the alarms that practitioners set on them."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normtrial.norms.base import Norm
from normtrial.probes.base import Event, Probe, Sites, Values


class Band(NamedTuple):
    """A measure is healthy inside [low, high], they say."""

    measure: str
    low: float
    high: float


# As one of the documents on trial has them: "weight.std() 0.8 to 1.2; < 0.5: the layer is dead", "bias.mean()
# within ±0.3; > 1.0: trouble". Rules on trial, not ours: the standard deviation of a fresh γ is 0, so the first
# two ring at once. The mean may have been meant, and has the same bands.
ALARMS = {
    "alarm_gain_sd_outside": Band("gain_sd", 0.8, 1.2),
    "alarm_gain_sd_dead": Band("gain_sd", 0.5, torch.inf),
    "alarm_gain_mean_outside": Band("gain_mean", 0.8, 1.2),
    "alarm_gain_mean_dead": Band("gain_mean", 0.5, torch.inf),
    "alarm_shift_mean_outside": Band("shift_mean", -0.3, 0.3),
    "alarm_shift_mean_trouble": Band("shift_mean", -1.0, 1.0),
}


class Gains(Probe):
    """Mean and standard deviation (n − 1) of γ and β, before the step: `affine/<site>/{gain,shift}_{mean,sd}`.

    Norms with one gain for all features (`scale`) or generated ones (`ada`) have none to look at. An alarm becomes
    one event in the step in which sites leave its band, with the sites and their values; it rings again at a site
    that has come back in between.
    """

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._ringing: dict[str, list[str]] = {}

    def measure(self) -> Values:
        """Up to four values a norm."""
        found: Values = {}
        for site, kind, values in self._vectors():
            values = values.detach().to(torch.promote_types(values.dtype, torch.float32))
            found[f"affine/{site}/{kind}_mean"] = values.mean()
            found[f"affine/{site}/{kind}_sd"] = values.std()
        return found

    def _vectors(self) -> Iterator[tuple[str, str, Tensor]]:
        for site, norm in self.sites.items():
            if isinstance(norm, Norm):
                for kind, name in (("gain", "weight"), ("shift", "bias")):
                    values = getattr(norm, name, None)
                    if isinstance(values, Tensor) and values.numel() > 1:
                        yield site, kind, values

    def events(self, loss: float, row: Mapping[str, float]) -> Iterator[Event]:
        """Alarms that begin to ring."""
        for kind, (measure, low, high) in ALARMS.items() if row else ():
            outside = {
                site: value
                for site in self.sites
                if (value := row.get(f"affine/{site}/{measure}")) is not None and not low <= value <= high
            }
            new = {site: value for site, value in outside.items() if site not in self._ringing.get(kind, [])}
            self._ringing[kind] = list(outside)
            if new:
                yield kind, next(iter(new)) if len(new) == 1 else None, {"low": low, "high": high, "sites": new}

    def state(self) -> dict[str, Any]:
        """What rings."""
        return {kind: list(sites) for kind, sites in self._ringing.items() if sites}

    def load(self, state: dict[str, Any]) -> None:
        """It goes on ringing, unheard."""
        self._ringing = state
