"""Every placement by name. A new placement is one class, one YAML in conf/placement/, and one line here."""

from normtrial.placements.bare import Bare, ReZero
from normtrial.placements.base import Placement, PlacementConfig
from normtrial.placements.mixed import Hybrid, Mix, ResiDual
from normtrial.placements.residual import Post, Pre, PreAttentionOnly, ResPost
from normtrial.placements.scaled import DeepNorm, LayerNormScaling
from normtrial.placements.two_norms import Peri, Sandwich, SubLN

PLACEMENTS: dict[str, type[Placement]] = {
    "pre": Pre,
    "post": Post,
    "res_post": ResPost,
    "pre_attn_only": PreAttentionOnly,
    "sandwich": Sandwich,
    "peri": Peri,
    "subln": SubLN,
    "deepnorm": DeepNorm,
    "lns": LayerNormScaling,
    "mix": Mix,
    "hybrid": Hybrid,
    "resi_dual": ResiDual,
    "rezero": ReZero,
    "none": Bare,
}


def placement_class(config: PlacementConfig) -> type[Placement]:
    """The class that the configuration names."""
    return PLACEMENTS[config.name]
