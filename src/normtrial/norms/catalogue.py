"""Every norm by name. A new norm is one class, one YAML in conf/norm/, and one line here."""

from normtrial.norms.adaptive import AdaptiveLayerNorm
from normtrial.norms.base import Norm, NormConfig
from normtrial.norms.batch import BatchNorm
from normtrial.norms.layer import LayerNorm
from normtrial.norms.rms import RMSNorm

NORMS: dict[str, type[Norm]] = {
    "bn": BatchNorm,
    "ln": LayerNorm,
    "rms": RMSNorm,
    "ada": AdaptiveLayerNorm,
}


def build_norm(d_model: int, config: NormConfig) -> Norm:
    """The norm that the configuration names, for tokens of width `d_model`."""
    return NORMS[config.name](d_model, config)


def norm_class(config: NormConfig) -> type[Norm]:
    """The class that the configuration names."""
    return NORMS[config.name]
