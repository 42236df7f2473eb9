"""What readers of forward passes share: the valid tokens of what a module takes or gives.

Shapes: B examples, L positions, D features, N valid tokens.
"""

from typing import Any

import torch
from torch import Tensor


def mask_of(inputs: tuple[Any, ...]) -> Tensor | None:
    """The mask among a module's inputs `(x_BLD, mask_BL, …)`; None where all tokens are valid."""
    return inputs[1] if len(inputs) > 1 else None


def valid_tokens(x_BLD: Tensor, mask_BL: Tensor | None) -> Tensor:
    """The (N, D) valid tokens, in float32 or better; all rows of what holds no tokens, as class logits."""
    x = x_BLD.detach()
    fits = mask_BL is not None and x.shape[:2] == mask_BL.shape
    rows = x[mask_BL] if fits else x.reshape(-1, x.shape[-1])
    return rows.to(torch.promote_types(x.dtype, torch.float32))


def stream_of(output: Any) -> Tensor:
    """The stream of tokens that a module gives; of two (`resi_dual`) the normed one."""
    return output[0] if isinstance(output, tuple) else output
