"""Readers of forward passes, against values worked out by hand or by loops.

Shapes: B examples, L positions, D features, H heads, K head width.
"""

import math

import pytest
import torch
from torch import Tensor, nn

from normtrial.network.attention import AttentionKernel
from normtrial.probes.activations.attention import NUM_EXAMPLES, AttentionWeights
from normtrial.probes.activations.centring import Centring
from normtrial.probes.activations.sizes import LargestActivations
from normtrial.probes.activations.streams import Streams
from normtrial.probes.base import OutputProbe
from tests.network.models import lengths_mask

# Three tokens and a pad that nothing may read.
X_BLD = torch.tensor([[[1.0, -1, 1, -1], [2, 0, 0, 0]], [[5, 5, 5, 5], [math.nan, math.inf, 9e9, 0]]])
MASK_BL = torch.tensor([[True, True], [True, False]])


def read(kind: type[OutputProbe], output, inputs=(X_BLD, MASK_BL), module: nn.Module | None = None):
    values = kind({}).read(module or nn.Identity(), inputs, output)
    return {measure: float(value) for measure, value in values.items()}


def test_variance_and_kurtosis_of_the_stream() -> None:
    # Deviations 1, 1, 1, 1: σ² 1, kurtosis 1. Deviations 1.5, -0.5 three times: squares 2.25 and 0.25, σ² 3/4,
    # fourth moment (81/16 + 3/16) / 4 = 21/16, over 9/16. The constant token has neither.
    expected = {"variance": (1 + 0.75 + 0) / 3, "kurtosis": (1 + 21 / 9 + 0) / 3}
    # Features are (1, 2, 5), (-1, 0, 5), (1, 0, 5), (-1, 0, 5) over the three tokens.
    expected |= {"feature_max": 26 / 3 - 16 / 9, "feature_median": 26 / 3 - 4}
    assert read(Streams, X_BLD) == pytest.approx(expected)
    assert read(Streams, (X_BLD, -X_BLD)) == pytest.approx(expected), "of two streams, the first"
    without = X_BLD[:1]
    assert read(Streams, without, (without, None))["variance"] == pytest.approx(0.875)


def test_kurtosis_of_large_streams_does_not_overflow() -> None:
    large = X_BLD[:1] * 1e15  # fourth powers are beyond float32
    assert read(Streams, large, (large, None))["kurtosis"] == pytest.approx((1 + 21 / 9) / 2)


def test_the_largest_activation_is_one_of_a_valid_token() -> None:
    assert read(LargestActivations, -X_BLD) == {"max_abs": 5.0}
    logits_BC = torch.tensor([[1.0, -7.0], [3.0, 2.0]])  # of classes: no mask fits
    assert read(LargestActivations, logits_BC) == {"max_abs": 7.0}
    assert math.isnan(read(LargestActivations, X_BLD, (X_BLD, None))["max_abs"])


def test_cosine_with_the_direction_of_ones() -> None:
    cosines = [0.0, 2 / math.sqrt(4 * 4), 1.0]
    expected = {
        "cos_ones": sum(cosines) / 3,
        "cos_ones_rms": math.sqrt(sum(cosine**2 for cosine in cosines) / 3),
    }
    assert read(Centring, None) == pytest.approx(expected)
    assert read(Centring, None, (torch.zeros(1, 1, 4), None)) == {"cos_ones": 0.0, "cos_ones_rms": 0.0}


def test_what_centring_removes_is_the_square_of_the_rms_cosine() -> None:
    x_BLD = torch.randn(2, 3, 8, generator=torch.Generator().manual_seed(0)) + 0.7
    x_BLD = x_BLD / x_BLD.norm(dim=-1, keepdim=True)
    removed = 1 - (x_BLD - x_BLD.mean(-1, keepdim=True)).square().sum(-1).mean()
    assert read(Centring, None, (x_BLD, None))["cos_ones_rms"] ** 2 == pytest.approx(float(removed), rel=1e-5)


def attention_by_loops(q: Tensor, k: Tensor, mask: Tensor, causal: bool, scale: float) -> dict[str, float]:
    entropies, largest = [], 0.0
    B, H, L, _ = q.shape
    for b in range(min(B, NUM_EXAMPLES)):
        for h in range(H):
            for t in range(L):
                keys = [s for s in range(t + 1 if causal else L) if mask[b, s]]
                if not mask[b, t]:
                    continue
                logits = [scale * float(q[b, h, t] @ k[b, h, s]) for s in keys]
                largest = max(largest, *map(abs, logits))
                total = sum(map(math.exp, logits))
                p = [math.exp(value) / total for value in logits]
                if len(keys) > 1:
                    entropies.append(-sum(v * math.log(v) for v in p) / math.log(len(keys)))
    return {"entropy": sum(entropies) / len(entropies), "max_logit": largest}


@pytest.mark.parametrize("scale", [None, 1.5])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("lengths", [None, [5, 2, 1, 4, 5]])
def test_attention_against_loops(lengths: list[int] | None, causal: bool, scale: float | None) -> None:
    q, k = torch.randn(2, 5, 2, 5, 4, generator=torch.Generator().manual_seed(0)).double().unbind(0)
    q[4] = 1e6  # beyond the sample of examples
    mask = None if lengths is None else lengths_mask(lengths, 5)
    seen = torch.ones(5, 5, dtype=torch.bool) if mask is None else mask
    found = read(AttentionWeights, None, (q, k, k, mask), AttentionKernel(causal, scale))
    expected = attention_by_loops(q, k, seen, causal, 0.5 if scale is None else scale)
    assert found == pytest.approx(expected)


def test_uniform_and_single_minded_attention() -> None:
    q = torch.zeros(1, 1, 3, 2)
    same = read(AttentionWeights, None, (q, q, q, None), AttentionKernel(False))
    assert same == pytest.approx({"entropy": 1.0, "max_logit": 0.0})
    sharp = 100 * torch.eye(3).reshape(1, 1, 3, 3)
    found = read(AttentionWeights, None, (sharp, sharp, sharp, None), AttentionKernel(False, 1.0))
    assert found == pytest.approx({"entropy": 0.0, "max_logit": 1e4})
    one = torch.ones(1, 1, 1, 2)
    alone = read(AttentionWeights, None, (one, one, one, None), AttentionKernel(True, 1.0))
    assert alone == {"entropy": 0.0, "max_logit": 2.0}
