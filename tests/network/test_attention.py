"""Attention against plain float64 loops, and the rows that have nothing to look at.

Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import math

import pytest
import torch
from torch import Tensor

from normtrial.network.attention import AttentionKernel, SelfAttention
from tests.network.models import lengths_mask

LENGTHS = [5, 2, 1]


def loops(attention: SelfAttention, x_BLD: Tensor, mask_BL: Tensor | None) -> Tensor:
    """softmax(q·k / sqrt(K)) v, key by key."""
    B, L, D = x_BLD.shape
    H = attention.num_heads
    K = D // H
    y_BLD = torch.zeros_like(x_BLD)
    for b in range(B):
        qkv = [attention.qkv.weight @ x_BLD[b, t] + attention.qkv.bias for t in range(L)]
        for h in range(H):
            q, k, v = ([token[part * D + h * K : part * D + (h + 1) * K] for token in qkv] for part in range(3))
            for t in range(L):
                last = t if attention.kernel.causal else L - 1
                keys = [s for s in range(last + 1) if mask_BL is None or mask_BL[b, s]]
                weights = [math.exp((q[t] @ k[s]).item() / math.sqrt(K)) for s in keys]
                for weight, s in zip(weights, keys, strict=True):
                    y_BLD[b, t, h * K : (h + 1) * K] += weight / sum(weights) * v[s]
    return y_BLD @ attention.output.weight.T + attention.output.bias


@pytest.mark.parametrize("masked", [True, False], ids=["ragged", "full"])
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "bidirectional"])
def test_equals_loops(causal: bool, masked: bool) -> None:
    torch.manual_seed(0)
    attention = SelfAttention(6, 2, 0.0, causal).double()
    x_BLD = torch.randn(3, 5, 6, dtype=torch.float64)
    mask_BL = lengths_mask(LENGTHS, 5) if masked else None
    valid_BL = torch.ones(3, 5, dtype=torch.bool) if mask_BL is None else mask_BL  # what pads see is not used
    with torch.no_grad():
        error_BLD = attention(x_BLD, mask_BL) - loops(attention, x_BLD, mask_BL)
    assert error_BLD[valid_BL].abs().max() < 1e-12


@pytest.mark.parametrize("causal", [True, False], ids=["causal", "bidirectional"])
@pytest.mark.parametrize(
    "mask_BL",
    [lengths_mask([5, 0, 3], 5), lengths_mask([0, 0, 0], 5), lengths_mask([5, 2, 3], 5).flip(1)],
    ids=["one row of pads", "nothing but pads", "pads in front"],
)
def test_nothing_to_look_at_gives_no_nan(mask_BL: Tensor, causal: bool) -> None:
    """B23: an empty softmax would be 0/0, and its gradient would reach every weight."""
    torch.manual_seed(0)
    attention = SelfAttention(6, 2, 0.0, causal)
    x_BLD = torch.randn(3, 5, 6, requires_grad=True)
    y_BLD = attention(x_BLD, mask_BL)
    y_BLD.square().sum().backward()
    assert y_BLD.isfinite().all()
    assert x_BLD.grad is not None and x_BLD.grad.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in attention.parameters())


@pytest.mark.parametrize("causal", [True, False], ids=["causal", "bidirectional"])
def test_no_softmax_is_over_nothing(causal: bool) -> None:
    """B23: not left to the kernel, which gives NaN before torch 2.5 and 0 since."""
    for lengths in ([5, 0, 3], [0, 0, 0]):
        for mask_BL in (lengths_mask(lengths, 5), lengths_mask(lengths, 5).flip(1)):
            keys = AttentionKernel(causal).keys(mask_BL, 5)
            assert keys is not None
            assert keys.any(-1).all()


def test_dropout_acts_in_training_only() -> None:
    attention, x_BLD = SelfAttention(6, 2, 0.5, False), torch.randn(2, 5, 6)
    assert not torch.equal(attention(x_BLD), attention(x_BLD))
    attention.eval()
    assert torch.equal(attention(x_BLD), attention(x_BLD))
