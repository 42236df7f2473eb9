"""Tiny Transformers, composed from conf/ like any other, and tokens to put in.

Shapes: B examples, L positions.
"""

import random
from typing import Any

import torch
from torch import Tensor

from normtrial.config import Config
from normtrial.network.model import Transformer
from normtrial.placements.base import Placement
from tests.norms.options import TASKS, settings

VOCABULARY, CLASSES, MAX_LEN = 32, 4, 12
SMALL = {
    "model.num_layers": 2,
    "model.d_model": 16,
    "model.num_heads": 2,
    "model.d_ff": 32,
    "model.dropout": 0.0,  # CPUs draw differently
    "data.max_len": MAX_LEN,
}


def small(norm: str, placement: str, task: str = "classification", **changes: Any) -> Config:
    """A whole configuration of a tiny model; `changes` are written `norm__eps=1e-3`."""
    values = {**SMALL, **{key.replace("__", "."): value for key, value in changes.items()}}
    return settings(f"norm={norm}", f"placement={placement}", TASKS[task], values=values)


def build(config: Config) -> Transformer:
    """The configured model, in training mode."""
    return Transformer(
        config.model,
        config.norm,
        config.placement,
        vocab_size=VOCABULARY,
        num_outputs=VOCABULARY if config.data.kind == "lm" else CLASSES,
        max_len=config.data.max_len,
        causal=config.data.kind == "lm",
        seed=config.seed,
    )


def model(norm: str, placement: str, task: str = "classification", **changes: Any) -> Transformer:
    """See `small`."""
    return build(small(norm, placement, task, **changes))


def tokens(seed: int, B: int = 4, L: int = 7) -> Tensor:
    """Made-up tokens, the same on every machine: Python's generator is fixed by its documentation."""
    generator = random.Random(seed)
    rows = [[generator.randrange(VOCABULARY) for _ in range(L)] for _ in range(B)]
    return torch.tensor(rows, dtype=torch.int64)


def lengths_mask(lengths: list[int], L: int) -> Tensor:
    """True at the first positions of each example."""
    return torch.arange(L)[None, :] < torch.tensor(lengths)[:, None]


def disturb(network: Transformer, seed: int = 0) -> Transformer:
    """Give every parameter of the norms, and of the placements, a value that nothing can hide behind."""
    generator = torch.Generator().manual_seed(seed)
    placements = (module for module in network.modules() if isinstance(module, Placement))
    with torch.no_grad():
        for module in (*network.norms(), *placements):
            for parameter in module.parameters():
                parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return network
