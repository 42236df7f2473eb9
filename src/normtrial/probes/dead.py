"""Finite but dead: a norm that answers a token with zeros only, although its features differ.

In float16 the square of 256 is infinite, and x / inf is 0: no NaN comes up, and nothing is learned any more.
Shapes: B examples, L positions, D features.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from normtrial.probes.base import Sites
from normtrial.probes.magnitudes import magnitudes


def dead_tokens(x_BLD: Tensor, y_BLD: Tensor, mask_BL: Tensor | None) -> Tensor:
    """How many valid tokens came out as zeros only, although their features differ.

    A token whose features are all alike has no variance, and 0 is the right answer to it.

    >>> x = torch.tensor([[[300.0, 400.0], [7.0, 7.0]]])
    >>> int(dead_tokens(x, torch.zeros_like(x), None))
    1
    """
    dead_BL = (y_BLD == 0).all(-1) & (x_BLD != x_BLD[..., :1]).any(-1)
    return (dead_BL if mask_BL is None else dead_BL & mask_BL).sum()


class DeadOutputs:
    """Watches norms during one forward pass; reading costs one synchronization."""

    def __init__(self, norms: Sites):
        self._norms = norms
        self._seen: dict[str, tuple[Tensor, int, Tensor]] = {}  # dead tokens, positions, the last input

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look at every norm's tokens meanwhile."""
        self._seen = {}
        handles = [module.register_forward_hook(self._hook(site)) for site, module in self._norms.items()]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def found(self) -> dict[str, Any] | None:
        """The first norm with dead tokens: `site`, how many of how many, its input, eps; and every such site."""
        if not self._seen:
            return None
        numbers = torch.stack([number for number, _, _ in self._seen.values()]).tolist()
        dead = {site: number for site, number in zip(self._seen, numbers, strict=True) if number}
        if not dead:
            return None
        site = next(iter(dead))
        _, num_positions, x_BLD = self._seen[site]
        return {
            "site": site,
            "num_dead_tokens": dead[site],
            "num_positions": num_positions,
            "eps": getattr(self._norms[site], "eps", None),
            "input": magnitudes(x_BLD),
            "sites": dead,
        }

    def _hook(self, site: str) -> Any:
        def look(module: nn.Module, inputs: tuple, y_BLD: Tensor) -> None:
            if torch._C._current_autograd_node() is not None:  # pyright: ignore[reportAttributeAccessIssue]
                return  # activation checkpointing computes what has been looked at
            x_BLD, mask_BL = inputs[0].detach(), inputs[1] if len(inputs) > 1 else None
            number, positions = dead_tokens(x_BLD, y_BLD.detach(), mask_BL), x_BLD.numel() // x_BLD.shape[-1]
            if site in self._seen:  # micro-batches pass one after the other
                number, positions = number + self._seen[site][0], positions + self._seen[site][1]
            self._seen[site] = (number, positions, x_BLD)

        return look
