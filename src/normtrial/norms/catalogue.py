"""Every norm by name. A new norm is one class, one YAML in conf/norm/, and one line here."""

from normtrial.norms.adaptive import AdaNorm, AdaptiveLayerNorm, AdaptiveRMSNorm, ScalarAdaptiveLayerNorm
from normtrial.norms.base import Norm, NormConfig
from normtrial.norms.batch.hybrid import ProgressiveBatchNorm, TokenRmsBatchNorm
from normtrial.norms.batch.pooled import BatchNorm
from normtrial.norms.batch.position import PositionBatchNorm
from normtrial.norms.batch.power import PowerNorm, PowerNormV
from normtrial.norms.batch.regularized import RegularizedBatchNorm
from normtrial.norms.layer import (
    DetachedLayerNorm,
    LayerNorm,
    LayerNormAlpha,
    LayerNormStd,
    LayerNormStdBiased,
)
from normtrial.norms.pointwise import DynamicErf, DynamicTanh, NoNorm
from normtrial.norms.rms import HalfRMSNorm, PartialRMSNorm, RMSNorm, RMSNormEpsOutside, ScaleNorm
from normtrial.norms.sequence import MaskedInstanceNorm, MaskedSentenceLayerNorm, SentenceLayerNorm

NORMS: dict[str, type[Norm]] = {
    "bn": BatchNorm,
    "bn_pos": PositionBatchNorm,
    "bn_token_rms": TokenRmsBatchNorm,
    "rbn": RegularizedBatchNorm,
    "power": PowerNorm,
    "power_v": PowerNormV,
    "repbn": ProgressiveBatchNorm,
    "ln": LayerNorm,
    "rms": RMSNorm,
    "ada": AdaptiveLayerNorm,
    # forms of LayerNorm
    "ln_std_eps": LayerNormStd,
    "ln_std_eps_biased": LayerNormStdBiased,
    "ln_alpha": LayerNormAlpha,
    "ln_detach": DetachedLayerNorm,
    # over the positions of an example
    "ln_seq": SentenceLayerNorm,
    "ln_seq_mask": MaskedSentenceLayerNorm,
    "instance_mask": MaskedInstanceNorm,
    # without centring
    "rms_eps_out": RMSNormEpsOutside,
    "rms_bias": RMSNorm,
    "prms": PartialRMSNorm,
    "scale": ScaleNorm,
    "rms_half": HalfRMSNorm,
    # with a gain that depends on something
    "ada_scalar": ScalarAdaptiveLayerNorm,
    "ada_rms": AdaptiveRMSNorm,
    "adanorm": AdaNorm,
    # without statistics
    "dyt": DynamicTanh,
    "derf": DynamicErf,
    "none": NoNorm,
}


def build_norm(d_model: int, config: NormConfig, max_len: int = 0) -> Norm:
    """The norm that the configuration names, for tokens of width `d_model`.

    Args:
        d_model: the width.
        config: the options, with the catalogue's name.
        max_len: the longest input of training, which norms with a parameter or statistic a position need.
    """
    return NORMS[config.name](d_model, config, max_len)


def norm_class(config: NormConfig) -> type[Norm]:
    """The class that the configuration names."""
    return NORMS[config.name]
