"""Every probe by name. A new probe is one file and one line here (and one in conf/probe/all.yaml)."""

from dataclasses import dataclass

from normtrial.errors import not_one_of, require
from normtrial.probes.activations.attention import AttentionWeights
from normtrial.probes.activations.centring import Centring
from normtrial.probes.activations.sizes import LargestActivations
from normtrial.probes.activations.streams import Streams
from normtrial.probes.base import Probe, Probes, Sites
from normtrial.probes.gains import Gains
from normtrial.probes.gradients import GradientNorms
from normtrial.probes.running import BatchStatistics, Discrepancy
from normtrial.probes.spikes import Spikes
from normtrial.probes.updates import UpdateRatios

PROBES: dict[str, type[Probe]] = {
    "gradient_norms": GradientNorms,
    "tid": Discrepancy,
    "spikes": Spikes,
    "batch_statistics": BatchStatistics,
    "streams": Streams,
    "largest_activations": LargestActivations,
    "centring": Centring,
    "attention": AttentionWeights,
    "update_ratios": UpdateRatios,
    "gains": Gains,
}


@dataclass(kw_only=True, slots=True)
class ProbeConfig:
    """Which probes read the model, and how often."""

    names: list[str]  # of the catalogue
    every: int  # steps: of the logged steps, the multiples of this number are probed, and step 1

    def check(self) -> None:
        """Known names only, and at least one step."""
        for name in self.names:
            if name not in PROBES:
                raise not_one_of("probe.names", name, PROBES)
        require(self.every >= 1, f"probe.every={self.every} must be at least 1.")

    def needing_hooks(self) -> list[str]:
        """Those that read forward passes, which a compiled model does not show."""
        return [name for name in self.names if PROBES[name].needs_hooks]


def build_probes(config: ProbeConfig, sites: Sites) -> Probes:
    """The configured probes on a model's sites, its blocks among them."""
    return Probes({name: PROBES[name](sites) for name in config.names}, config.every)
