"""Multi-head self-attention through torch's fused kernel.

Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.network.positions import RotaryPositions
from normtrial.norms.heads import QK_NORMS, PerHead


class AttentionKernel(nn.Module):
    """softmax(Q Kᵀ scale) V, all heads at once; a module of its own, so that a hook sees what the kernel gets.

    Attributes:
        scale: factor on Q Kᵀ; None is the kernel's own, 1/sqrt(K).
    """

    def __init__(self, causal: bool, scale: float | None = None):
        super().__init__()
        self.causal, self.scale = causal, scale

    def forward(self, q_BHLK: Tensor, k_BHLK: Tensor, v_BHLK: Tensor, mask_BL: Tensor | None) -> Tensor:
        """Attend; keys where `mask_BL` is False are looked at by nobody."""
        return F.scaled_dot_product_attention(
            q_BHLK,
            k_BHLK,
            v_BHLK,
            attn_mask=None if mask_BL is None else self.keys(mask_BL, q_BHLK.shape[2]),
            is_causal=self.causal and mask_BL is None,
            scale=self.scale,
        )

    def keys(self, mask_BL: Tensor, length: int) -> Tensor:
        """The mask in the form of torch's kernel, (B, 1, 1 or L, L): True may be looked at.

        A row without a valid token looks everywhere: its output is not used, and an empty softmax is NaN.
        """
        keys = (mask_BL | ~mask_BL.any(dim=1, keepdim=True))[:, None, None, :]
        if not self.causal:
            return keys
        past = torch.ones(length, length, dtype=torch.bool, device=mask_BL.device).tril()
        own = torch.eye(length, dtype=torch.bool, device=mask_BL.device)
        return (keys & past) | own  # a leading pad still sees itself, so no softmax is empty


class SelfAttention(nn.Module):
    """softmax(Q Kᵀ / sqrt(K)) V over the valid positions, all heads at once, projected back to D.

    Norms may stand on Q, K and V (`q_norm`, `k_norm`, `v_norm`, over all D features) and in front of the output
    projection (`inner_norm`): a placement puts them there; `qk_norm` puts per-head ones on Q and K.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.

    Args:
        causal: True lets position t look at positions up to t only.
        dropout: share of output features dropped in training. Attention weights are never dropped: drawing the
            (B, H, L, L) numbers costs 40 % of a step at L = 512 and bars the fused kernel.
        qk_norm: none, l2, ln or rms; see `norms.heads`.
        max_len: the longest input of training, from which l2's gain starts.
        rotary: queries and keys are turned by their positions.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float,
        causal: bool,
        qk_norm: str = "none",
        max_len: int = 0,
        rotary: bool = False,
    ):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.norm_width = d_model
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.output = nn.Linear(d_model, d_model)
        self.q_norm: nn.Module | None = None
        self.k_norm: nn.Module | None = None
        self.v_norm: nn.Module | None = None
        self.inner_norm: nn.Module | None = None
        self.kernel = AttentionKernel(causal)
        self.rotary = RotaryPositions(d_model // num_heads, max_len) if rotary else None
        build = QK_NORMS[qk_norm]
        if build is not None:
            q_norm, k_norm, self.kernel.scale = build(d_model // num_heads, max_len)
            self.q_norm, self.k_norm = PerHead(q_norm, num_heads), PerHead(k_norm, num_heads)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        """Attend; keys where `mask_BL` is False are looked at by nobody."""
        B, L, D = x_BLD.shape

        def normed(y_BLD: Tensor, norm: nn.Module | None) -> Tensor:
            return y_BLD if norm is None else norm(y_BLD, mask_BL, cond_BLD)

        def heads(y_BLD: Tensor) -> Tensor:
            return y_BLD.view(B, L, self.num_heads, D // self.num_heads).transpose(1, 2)

        def turned(y_BHLK: Tensor) -> Tensor:
            return y_BHLK if self.rotary is None else self.rotary(y_BHLK)

        q_BLD, k_BLD, v_BLD = self.qkv(x_BLD).chunk(3, dim=-1)
        y_BHLK = self.kernel(
            turned(heads(normed(q_BLD, self.q_norm))),
            turned(heads(normed(k_BLD, self.k_norm))),
            heads(normed(v_BLD, self.v_norm)),
            mask_BL,
        )
        y_BLD = self.output(normed(y_BHLK.transpose(1, 2).reshape(B, L, D), self.inner_norm))
        return F.dropout(y_BLD, self.dropout, self.training)

    def branch_weights(self) -> list[Tensor]:
        """The value and the output projection: what a companion initialization scales."""
        return [self.qkv.weight.chunk(3)[2], self.output.weight]
