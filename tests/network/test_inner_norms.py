"""Norms inside the sublayers: on queries, keys and values, in front of output projections, after the embedding.

Against plain float64 loops. Shapes: B examples, L positions, D model width, H heads, K head width.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normtrial.network.attention import SelfAttention
from normtrial.network.blocks import Mlp, repeated
from normtrial.norms.heads import L2Norm
from tests.network.models import MAX_LEN, disturb, lengths_mask, model, tokens
from tests.norms.options import PAIRS

D, H, K = 6, 2, 3


class Planted(nn.Module):
    """A stand-in for a norm that is none: x² + the condition, 7 where masked out."""

    def forward(self, x_BLD: Tensor, mask_BL: Tensor, cond_BLD: Tensor) -> Tensor:
        return torch.where(mask_BL[..., None], x_BLD.square() + cond_BLD, 7.0)


def normed(kind: str, x: Tensor, gain: Tensor | float) -> Tensor:
    """One head of one token."""
    values = x.tolist()
    if kind == "l2":
        scale = 1 / math.sqrt(sum(v * v for v in values) + 1e-6)
    elif kind == "rms":
        scale = 1 / math.sqrt(sum(v * v for v in values) / K + 1e-6)
    else:
        values = [v - sum(values) / K for v in values]
        scale = 1 / math.sqrt(sum(v * v for v in values) / K + 1e-6)
    return torch.tensor([v * scale for v in values], dtype=torch.float64) * gain


@pytest.mark.parametrize("kind", ["l2", "ln", "rms"])
def test_norms_of_queries_and_keys_equal_loops_a_head(kind: str) -> None:
    torch.manual_seed(0)
    attention = SelfAttention(D, H, 0.0, True, kind, MAX_LEN).double()
    gains = [getattr(attention, name).norm.weight for name in ("q_norm", "k_norm")]
    for gain in (gain for gain in gains if gain is not None):
        gain.data += torch.rand_like(gain)
    x_BLD = torch.randn(2, 4, D, dtype=torch.float64)
    y_BLD = torch.zeros_like(x_BLD)
    factor = 1 if kind == "l2" else 1 / math.sqrt(K)
    with torch.no_grad():
        q_BLD, k_BLD, v_BLD = (x_BLD @ attention.qkv.weight.T + attention.qkv.bias).split(D, dim=-1)
        gq, gk = (1.0 if gain is None else gain for gain in gains)
        for b in range(2):
            for h in range(H):
                part = slice(h * K, (h + 1) * K)
                for t in range(4):
                    q = normed(kind, q_BLD[b, t, part], gq)
                    logits = [(q @ normed(kind, k_BLD[b, s, part], gk)).item() * factor for s in range(t + 1)]
                    weights = [math.exp(logit) for logit in logits]
                    for s, weight in enumerate(weights):
                        y_BLD[b, t, part] += weight / sum(weights) * v_BLD[b, s, part]
        wanted = y_BLD @ attention.output.weight.T + attention.output.bias
        assert (attention(x_BLD) - wanted).abs().max() < 1e-12


def test_the_gain_of_l2_starts_where_its_source_says_and_exists_once() -> None:
    network = model("ln", "pre", model__qk_norm="l2")
    gains = [(name, p) for name, p in network.named_parameters() if "q_norm" in name or "k_norm" in name]
    assert [name for name, _ in gains] == [f"blocks.{n}.attention.q_norm.norm.weight" for n in (0, 1)]
    for _, gain in gains:
        assert gain.shape == ()
        assert gain.item() == pytest.approx(math.log2(MAX_LEN**2 - MAX_LEN))
        assert any(gain is other for other in network.parameter_groups()[1]), "decayed"


@pytest.mark.parametrize("kind", ["l2", "ln", "rms"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_half_under_autocast(kind: str, dtype: torch.dtype) -> None:
    """B41: queries and keys must have the dtype of values, or the kernel refuses them."""
    attention = SelfAttention(D, H, 0.0, True, kind, MAX_LEN)
    seen: list[torch.dtype] = []
    for name in ("q_norm", "k_norm"):
        getattr(attention, name).register_forward_hook(lambda _, inputs, output: seen.append(output.dtype))
    with torch.autocast("cpu", dtype=dtype):
        attention(torch.randn(2, 4, D))
    assert seen == [dtype, dtype]


def test_a_zero_query_gives_finite_gradients() -> None:
    x_BLD = torch.zeros(1, 1, 4, requires_grad=True)
    L2Norm(4, 2.0)(x_BLD).sum().backward()
    assert x_BLD.grad is not None and x_BLD.grad.isfinite().all()


def test_placed_norms_see_all_features_mask_and_condition() -> None:
    torch.manual_seed(0)
    attention: Any = SelfAttention(D, H, 0.0, False).double()
    for name in ("q_norm", "k_norm", "v_norm", "inner_norm"):
        setattr(attention, name, Planted())
    x_BLD, cond_BLD = torch.randn(2, 2, 4, D, dtype=torch.float64).unbind(0)
    mask_BL = lengths_mask([4, 2], 4)
    with torch.no_grad():
        parts = (x_BLD @ attention.qkv.weight.T + attention.qkv.bias).split(D, dim=-1)
        q_BLD, k_BLD, v_BLD = (part.square() + cond_BLD for part in parts)
        heads_BLD = torch.zeros_like(x_BLD)
        for b, length in enumerate((4, 2)):
            for h in range(H):
                part = slice(h * K, (h + 1) * K)
                logits = q_BLD[b, :, part] @ k_BLD[b, :length, part].T / math.sqrt(K)
                heads_BLD[b, :, part] = logits.softmax(-1) @ v_BLD[b, :length, part]
        wanted = (heads_BLD.square() + cond_BLD) @ attention.output.weight.T + attention.output.bias
        error_BLD = attention(x_BLD, mask_BL, cond_BLD) - wanted
        assert error_BLD[mask_BL].abs().max() < 1e-10


def test_the_inner_norm_of_the_mlp_stands_after_the_activation() -> None:
    mlp: Any = Mlp(3, 7, "relu", 0.0)
    mlp.inner_norm = Planted()
    x_BLD, cond_BLD, mask_BL = torch.randn(2, 4, 3), torch.randn(2, 4, 3), torch.ones(2, 4, dtype=torch.bool)
    hidden = torch.relu(mlp.input(x_BLD))
    wide = torch.cat((cond_BLD, cond_BLD, cond_BLD[..., :1]), dim=-1)
    torch.testing.assert_close(mlp(x_BLD, mask_BL, cond_BLD), mlp.output(hidden.square() + wide))
    assert torch.equal(repeated(cond_BLD, 7), wide)
    assert torch.equal(repeated(cond_BLD, 2), cond_BLD[..., :2])


@pytest.mark.parametrize("norm", sorted({norm for norm, _ in PAIRS}))
def test_the_norm_after_the_embedding_is_the_configured_one(norm: str) -> None:
    network = disturb(model(norm, "post", model__embed_norm=True, model__num_layers=1)).eval()
    tokens_BL, mask_BL = tokens(0), lengths_mask([7, 4, 2, 6], 7)
    embedded_BLD = (network.embedding(tokens_BL) + network.sites()["positions"](7)) * 4  # sqrt(16)
    seen: list[tuple] = []
    network.blocks[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    network(tokens_BL, mask_BL)
    assert network.embed_norm is not None
    stream_BLD, mask, cond_BLD = seen[0]
    torch.testing.assert_close(stream_BLD, network.embed_norm(embedded_BLD, mask_BL, embedded_BLD))
    assert mask is mask_BL
    assert torch.equal(cond_BLD, stream_BLD)
