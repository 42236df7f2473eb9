"""The least memory traffic of a norm, in tensors of the input's size.

Forward a norm reads x and writes y; backward it reads x and ∂y and writes ∂x. Of padded input it reads valid
tokens only, and writes all. A norm over the batch reads everything twice, since its statistics are known only at
the end. An adaptive norm also reads its condition, and writes that one's gradient. Parameters and statistics are
so much smaller that they don't count.
"""

from normtrial.norms.adaptive import AdaptiveLayerNorm, ScalarAdaptiveLayerNorm
from normtrial.norms.base import Norm
from normtrial.norms.pointwise import NoNorm


def least_traffic(norm: Norm, valid: float = 1.0) -> dict[str, float]:
    """Tensors read and written by pass, where a share `valid` of the positions is.

    >>> from normtrial.config.shipped import shipped
    >>> from normtrial.norms.catalogue import build_norm
    >>> least_traffic(build_norm(4, shipped("ln")))
    {'forward': 2.0, 'both': 5.0}
    >>> least_traffic(build_norm(4, shipped("bn")), valid=0.5)
    {'forward': 2.0, 'both': 5.0}
    """
    if isinstance(norm, NoNorm):
        return {"forward": 0.0, "both": 0.0}
    looks = 2 if norm.mixes_examples(norm.config) else 1
    conditions = isinstance(norm, AdaptiveLayerNorm | ScalarAdaptiveLayerNorm)
    forward = looks * valid + 1 + conditions
    backward = looks * 2 * valid + 1 + 2 * conditions
    return {"forward": forward, "both": forward + backward}
