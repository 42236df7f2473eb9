"""Gaussian noise on token embeddings, in evaluation only.

Shapes: B examples, L positions, D model width.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


@contextmanager
def noisy(embedding: nn.Embedding, sigma: float, seed: int) -> Iterator[None]:
    """Let the embedding give e + σ r ε meanwhile: ε standard normal, r the root mean square of its matrix.

    So σ is relative, a ratio of noise to signal that means the same in arms whose embeddings have grown
    differently; positions are added afterwards. ε depends on the seed, on how many examples have been embedded
    since the noise was switched on, on position and feature: neither on the batch size nor on padding or device,
    and two norms meet the same noise.
    """
    size = sigma * embedding.weight.detach().double().square().mean().sqrt().item()
    num_seen = 0

    def add(module: nn.Module, inputs: Any, x_BLD: Tensor) -> Tensor:
        nonlocal num_seen
        rows = range(num_seen, num_seen + len(x_BLD))
        num_seen += len(x_BLD)
        # numpy's generator fills in order, so that a longer row begins like a shorter one; torch's does not
        drawn = [np.random.default_rng([seed, row]).standard_normal(x_BLD.shape[1:], np.float32) for row in rows]
        return x_BLD + size * torch.from_numpy(np.stack(drawn)).to(x_BLD)

    handle = embedding.register_forward_hook(add)
    try:
        yield
    finally:
        handle.remove()
