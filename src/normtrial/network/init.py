"""Initial weights that depend on the seed and a parameter's own name only.

So two arms that differ in their norm, its placement or their depth start with the same numbers wherever they
have the same parameter: the seeds are paired (a test compares them).
"""

import hashlib
import math

import torch
from torch import nn

from normtrial.network.blocks import Block
from normtrial.norms.base import Norm
from normtrial.placements.base import Placement


def initialize(model: nn.Module, seed: int) -> None:
    """Give every parameter its initial value; norms and placements have set their own.

    Matrices: Glorot normal, sd = sqrt(2 / (fan_in + fan_out)), as analysed by Xiong et al. 2020 (arXiv
    2002.04745); a stack of three projections (qkv) counts each on its own, a filter every place it looks at.
    Embeddings: sd = 1 / sqrt(D); the model scales them by sqrt(D), as Vaswani et al. 2017 (section 3.4) do, so
    tokens enter with unit sd and a tied head gives logits of unit sd. Biases: 0. A placement's companion
    initialization then scales the MLP, value and output projections of its blocks.
    """
    done = {id(p) for m in model.modules() if isinstance(m, Norm | Placement) for p in m.parameters()}
    for path, module in model.named_modules():
        if isinstance(module, Norm):
            module.draw(torch.Generator().manual_seed(_seed(seed, path)))
        for name, parameter in module.named_parameters(recurse=False):
            if id(parameter) in done:
                continue
            done.add(id(parameter))  # a tied matrix keeps its first owner's draw: the embedding's
            with torch.no_grad():
                if parameter.ndim < 2:
                    parameter.zero_()
                else:
                    generator = torch.Generator().manual_seed(_seed(seed, f"{path}.{name}"))
                    # drawn in float32 on the CPU, so that precision and device do not change the draw
                    drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float32)
                    parameter.copy_(drawn * _scale(module, path))
    with torch.no_grad():
        for block in (module for module in model.modules() if isinstance(module, Block)):
            for weight in (*block.attention.branch_weights(), *block.mlp.branch_weights()):
                weight.mul_(block.placement.init_scale)


def _scale(module: nn.Module, path: str) -> float:
    if isinstance(module, nn.Embedding):
        return module.embedding_dim**-0.5
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        places = math.prod(module.kernel_size)
        return math.sqrt(2 / (places * (module.in_channels + module.out_channels)))
    assert isinstance(module, nn.Linear), f"{path}: no rule for {type(module).__name__}"
    num_stacked = 3 if path.endswith(".qkv") else 1
    return math.sqrt(2 / (module.in_features + module.out_features / num_stacked))


def _seed(seed: int, name: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:7], "big")
