"""What depth does to a fresh model: gradient of the first and last MLP, variance of the stream.

Xiong et al. 2020 (arXiv 2002.04745, theorem 1): with Glorot normal matrices the gradient of the last MLP does not
depend on the number of blocks N in Post, and falls as 1/sqrt(N) in Pre, whose stream's variance grows with N.

Shapes: B examples, L positions, D model width.
"""

import dataclasses
import math
import statistics
from collections.abc import Iterable

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from normtrial.network.model import ModelConfig, Transformer
from normtrial.norms.base import NormConfig
from normtrial.placements.base import PlacementConfig

VOCABULARY, LENGTH = 256, 64  # bytes
SEEDS = (0, 1, 2)


@dataclasses.dataclass(frozen=True, slots=True)
class AtInit:
    """Means over seeds.

    Attributes:
        gradient_first: ‖∂L/∂W‖_F, W the first matrix (D → F) of the first block's MLP.
        gradient_last: the same in the last block.
        variance_first: variance over features of the stream after the first block, mean over tokens.
        variance_last: the same after the last block, in front of a final norm.
    """

    gradient_first: float
    gradient_last: float
    variance_first: float
    variance_last: float


def at_init(
    model: ModelConfig, norm: NormConfig, placement: PlacementConfig, seeds: Iterable[int] = SEEDS
) -> AtInit:
    """Measure a causal language model with its initial weights on one sequence of random bytes a seed.

    In float64, so that deep stacks without norms neither overflow nor differ between machines.
    """
    rows = [_one(model, norm, placement, seed) for seed in seeds]
    return AtInit(*(statistics.fmean(values) for values in zip(*rows, strict=True)))


def by_depth(
    depths: Iterable[int], model: ModelConfig, norm: NormConfig, placement: PlacementConfig
) -> dict[str, dict[str, float]]:
    """`at_init` for several numbers of blocks, as plain values: depth -> measure -> value."""
    return {
        str(depth): dataclasses.asdict(at_init(dataclasses.replace(model, num_layers=depth), norm, placement))
        for depth in depths
    }


def _one(
    model: ModelConfig, norm: NormConfig, placement: PlacementConfig, seed: int
) -> tuple[float, float, float, float]:
    network = Transformer(
        model,
        norm,
        placement,
        vocab_size=VOCABULARY,
        num_outputs=VOCABULARY,
        max_len=LENGTH,
        causal=True,
        seed=seed,
    )
    network.double().eval()
    variances: list[float] = []
    for block in network.blocks:
        block.register_forward_hook(lambda module, inputs, stream: variances.append(_variance(stream)))
    generator = torch.Generator().manual_seed(seed)
    tokens_BL = torch.randint(VOCABULARY, (1, LENGTH + 1), generator=generator)
    # Fused kernels take exp(q·k − logsumexp) in their backward pass: it overflows where no norm keeps q·k small.
    with sdpa_kernel(SDPBackend.MATH):
        logits_BLV = network(tokens_BL[:, :-1])
        F.cross_entropy(logits_BLV.flatten(0, 1), tokens_BL[:, 1:].flatten()).backward()
    gradients = [network.get_parameter(f"blocks.{n}.mlp.input.weight").grad for n in (0, model.num_layers - 1)]
    first, last = (math.nan if gradient is None else gradient.norm().item() for gradient in gradients)
    return first, last, variances[0], variances[-1]


def _variance(stream_BLD: Tensor) -> float:
    return stream_BLD.detach().var(-1, correction=0).mean().item()


def exponent(depths: Iterable[int], values: Iterable[float]) -> float:
    """p of the least-squares fit value ∝ depth^p, on logarithms.

    >>> round(exponent([2, 4, 8], [3.0, 1.5, 0.75]), 6)
    -1.0
    """
    return statistics.linear_regression([math.log(d) for d in depths], [math.log(v) for v in values]).slope
