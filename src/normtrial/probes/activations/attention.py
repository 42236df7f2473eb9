"""How sharp attention is, and how large its logits.

Shapes: B examples, L positions, H heads, K head width.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from normtrial.network.attention import AttentionKernel, SelfAttention
from normtrial.probes.base import OutputProbe, Values

NUM_EXAMPLES = 4  # of the batch, the first: the fused kernel has no weights to show, so (B, H, L, L) are made here


class AttentionWeights(OutputProbe):
    """Entropy of attention rows and largest logit, from the queries and keys as the kernel gets them.

    `attention/<site>/entropy` = mean over heads and valid queries of H / ln n, H = −Σ p ln p over the n ≥ 2 keys
    that a query may look at: 1 is uniform, 0 looks at one token. `attention/<site>/max_logit` = max |q·k| · scale
    over what may be looked at; its growth goes before many instabilities (Wortsman et al. 2023, arXiv 2309.14322).
    Of the first 4 examples of the batch, in float32 or better. Where no query has a choice the entropy is 0.
    """

    section = "attention"

    def place(self, module: nn.Module) -> nn.Module | None:
        """The kernel inside attention."""
        return module.kernel if isinstance(module, SelfAttention) else None

    def read(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Values:
        """Both numbers."""
        assert isinstance(module, AttentionKernel)
        q_BHLK, k_BHLK, _, mask_BL = (None if x is None else x[:NUM_EXAMPLES].detach() for x in inputs)
        assert q_BHLK is not None and k_BHLK is not None
        if mask_BL is None:
            mask_BL = torch.ones(len(q_BHLK), q_BHLK.shape[2], dtype=torch.bool, device=q_BHLK.device)
        kind = torch.promote_types(q_BHLK.dtype, torch.float32)
        scale = 1 / math.sqrt(q_BHLK.shape[-1]) if module.scale is None else module.scale
        with torch.autocast(q_BHLK.device.type, enabled=False):
            logits_BHLL = q_BHLK.to(kind) @ k_BHLK.to(kind).transpose(-1, -2) * scale
        keys = module.keys(mask_BL, q_BHLK.shape[2])
        return _summary(logits_BHLL, keys & mask_BL[:, None, :, None])


def _summary(logits_BHLL: Tensor, seen_B1LL: Tensor) -> Values:
    """`seen` is False in whole rows of padded queries."""
    p = torch.where(seen_B1LL, logits_BHLL, -torch.inf).softmax(-1)  # NaN in rows of padded queries
    entropy_BHL = torch.special.entr(p).sum(-1)
    num_B1L = seen_B1LL.sum(-1)
    choice_BHL = (num_B1L >= 2).expand_as(entropy_BHL)
    relative = torch.where(choice_BHL, entropy_BHL / num_B1L.clamp(min=2).log(), 0.0)
    return {
        "entropy": relative.sum() / choice_BHL.sum().clamp(min=1),
        "max_logit": torch.where(seen_B1LL, logits_BHLL.abs(), 0.0).amax(),
    }
