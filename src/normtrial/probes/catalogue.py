"""Every probe by name. A new probe is one file and one line here."""

from collections.abc import Callable
from dataclasses import dataclass

from normtrial.errors import not_one_of
from normtrial.probes.base import Probe, Sites
from normtrial.probes.gradients import GradientNorms

PROBES: dict[str, Callable[[Sites], Probe]] = {
    "gradient_norms": GradientNorms,
}


@dataclass(kw_only=True, slots=True)
class ProbeConfig:
    """Which probes read the model on logged steps."""

    names: list[str]  # of the catalogue

    def check(self) -> None:
        """Known names only."""
        for name in self.names:
            if name not in PROBES:
                raise not_one_of("probe.names", name, PROBES)


def build_probes(config: ProbeConfig, sites: Sites) -> list[Probe]:
    """The configured probes on a model's sites."""
    return [PROBES[name](sites) for name in config.names]
