"""Positions: rotary against complex numbers, inputs longer than training, and what learned ones refuse.

Shapes: B examples, L positions, H heads, K head width.
"""

import cmath

import pytest
import torch
from torch.nn import functional as F

from normtrial.errors import ConfigError
from normtrial.network.attention import SelfAttention
from normtrial.network.positions import ADDED, POSITIONS, RotaryPositions
from tests.network.models import MAX_LEN, lengths_mask, model, tokens
from tests.norms.options import TASKS

K = 6


def test_rotary_multiplies_pairs_by_a_complex_number() -> None:
    """Pair i at position m as x + iy, times exp(i m θ_i)."""
    x_BHLK = torch.randn(2, 3, 5, K, dtype=torch.float64)
    y_BHLK = RotaryPositions(K, 5).double()(x_BHLK)
    for m in range(5):
        for i in range(K // 2):
            factor = cmath.exp(1j * m * 10_000 ** (-2 * i / K))
            both = (z_BHLK[:, :, m].flatten(0, 1).tolist() for z_BHLK in (x_BHLK, y_BHLK))
            for x, y in zip(*both, strict=True):
                wanted = complex(x[2 * i], x[2 * i + 1]) * factor
                assert y[2 * i : 2 * i + 2] == pytest.approx([wanted.real, wanted.imag], abs=1e-6)


def test_rotary_products_depend_on_distance_only_and_lengths_stay() -> None:
    rotary = RotaryPositions(K, 40).double()
    q_K, k_K = torch.randn(2, K, dtype=torch.float64)
    q_LK, k_LK = (rotary(x.expand(1, 1, 40, K))[0, 0] for x in (q_K, k_K))
    products_LL = q_LK @ k_LK.T
    for distance in (-7, 0, 3):
        along = products_LL.diagonal(distance)
        assert along.max() - along.min() < 1e-5
    assert products_LL[:, 0].std() > 0.1, "and they do depend on it"
    torch.testing.assert_close(q_LK.norm(dim=-1), q_K.norm().expand(40), rtol=1e-6, atol=0)


def test_rotary_turns_queries_and_keys_of_attention_and_nothing_else() -> None:
    torch.manual_seed(0)
    plain, rotary = (SelfAttention(2 * K, 2, 0.0, False, max_len=5, rotary=rotary) for rotary in (False, True))
    rotary.load_state_dict(plain.state_dict())
    x_BLD, mask_BL = torch.randn(2, 5, 2 * K), lengths_mask([5, 3], 5)
    q, k, v = (part.view(2, 5, 2, K).transpose(1, 2) for part in plain.qkv(x_BLD).chunk(3, dim=-1))
    turn = RotaryPositions(K, 5)
    y_BHLK = F.scaled_dot_product_attention(turn(q), turn(k), v, attn_mask=mask_BL[:, None, None])
    wanted = plain.output(y_BHLK.transpose(1, 2).reshape(2, 5, 2 * K))
    torch.testing.assert_close(rotary(x_BLD, mask_BL), wanted)
    assert not torch.allclose(plain(x_BLD, mask_BL), wanted, atol=1e-3)


def test_rotary_keeps_the_precision_of_its_input() -> None:
    x_BHLK = torch.randn(1, 1, 3000, K)
    rotary = RotaryPositions(K, 3000)
    half = rotary(x_BHLK.bfloat16())
    assert half.dtype == torch.bfloat16
    exact = RotaryPositions(K, 3000).double()(x_BHLK.bfloat16().double())
    assert (half.double() - exact).abs().max() < 0.02, "turned in float32, far from the start, too"


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("positions", POSITIONS)
def test_longer_than_in_training(positions: str, task: str) -> None:
    network = model("ln", "pre", task, model__positions=positions).eval()
    long_BL, mask_BL = tokens(0, L=3 * MAX_LEN), lengths_mask([3 * MAX_LEN, 20, 2, 7], 3 * MAX_LEN)
    given = (long_BL, None if task == "lm" else mask_BL)
    if positions == "learned":
        with pytest.raises(ConfigError, match=r"learned positions end at 12, .*sinusoidal or rotary"):
            network(*given)
        return
    before = network(tokens(1))
    assert network(*given).isfinite().all()
    assert torch.equal(network(tokens(1)), before), "short inputs are as before"
    other = model("ln", "pre", task, model__positions=positions, data__max_len=3 * MAX_LEN).eval()
    assert torch.equal(other(*given), network(*given)), "as if built for the length"


@pytest.mark.parametrize("task", TASKS)
def test_order_matters_with_every_kind(task: str) -> None:
    for positions in POSITIONS:
        network = model("ln", "pre", task, model__positions=positions).eval()
        forward, backward = (network(t)[..., -1, :] for t in (tokens(0), tokens(0).roll(1, 1)))
        assert (forward - backward).abs().max() > 1e-4, positions


def test_rotary_adds_nothing_and_has_no_parameters() -> None:
    network, added = (model("ln", "pre", model__positions=kind) for kind in ("rotary", "sinusoidal"))
    assert "positions" not in network.sites()
    assert [name for name, _ in network.named_parameters()] == [name for name, _ in added.named_parameters()]
    assert network.state_dict().keys() == added.state_dict().keys()
    assert set(ADDED) | {"rotary"} == set(POSITIONS)


def test_a_head_of_odd_width_is_refused() -> None:
    model("ln", "pre", model__d_model=18, model__num_heads=2)
    with pytest.raises(ConfigError, match=r"rotary turns pairs of features, and a head has 9 .* make that even"):
        model("ln", "pre", model__d_model=18, model__num_heads=2, model__positions="rotary")
