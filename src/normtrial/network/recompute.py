"""Activation checkpointing: a block's activations are forgotten in the forward pass and computed again backward.

Costs a second forward pass, saves most of the memory of activations, and changes no number and no statistic.

Source: Chen et al. 2016, arXiv 1604.06174; `torch.utils.checkpoint`, whose second pass would move running
statistics twice, and read moved ones where a norm uses those from before the batch (PowerNorm, bn_pos, rbn).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

Buffers = dict[nn.Module, dict[str, Tensor]]


def recomputed(module: nn.Module, *given: Any) -> Any:
    """`module(*given)`; the pass that is taken again sees and moves copies of the buffers as they are now."""
    if not torch.is_grad_enabled():
        return module(*given)
    before = {
        part: {name: buffer.clone() for name, buffer in part.named_buffers(recurse=False)}
        for part in module.modules()
    }

    def passes() -> tuple[AbstractContextManager, AbstractContextManager]:
        return nullcontext(), _as_before(before)

    return checkpoint(module, *given, use_reentrant=False, context_fn=passes)


@contextmanager
def _as_before(buffers: Buffers) -> Iterator[None]:
    """These buffers in place of the modules' own; what modules note meanwhile (a penalty) is forgotten again."""
    own = {part: (dict(part.named_buffers(recurse=False)), dict(vars(part))) for part in buffers}
    for part, earlier in buffers.items():
        part._buffers.update(earlier)
    try:
        yield
    finally:
        for part, (named, noted) in own.items():
            vars(part).update(noted)
            part._buffers.update(named)
