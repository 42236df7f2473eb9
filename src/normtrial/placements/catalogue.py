"""Every placement by name. A new placement is one class, one YAML in conf/placement/, and one line here."""

from normtrial.placements.base import Placement, PlacementConfig
from normtrial.placements.residual import Post, Pre

PLACEMENTS: dict[str, type[Placement]] = {
    "pre": Pre,
    "post": Post,
}


def placement_class(config: PlacementConfig) -> type[Placement]:
    """The class that the configuration names."""
    return PLACEMENTS[config.name]
