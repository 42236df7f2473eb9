"""Noise on embeddings: as large as it says, the same for every batching, gone afterwards.

Shapes: B examples, L positions, D model width.
"""

import pytest
import torch
from torch import Tensor, nn

from normtrial.network.noise import noisy
from tests.network.models import model, tokens


def embedding() -> nn.Embedding:
    torch.manual_seed(0)
    return nn.Embedding(32, 64)


def noise(layer: nn.Embedding, batches: list[Tensor], sigma: float = 0.5, seed: int = 0) -> list[Tensor]:
    with noisy(layer, sigma, seed):
        noised = [layer(batch).detach() for batch in batches]
    return [x_BLD - layer(batch).detach() for x_BLD, batch in zip(noised, batches, strict=True)]


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_its_size_is_relative_to_the_embeddings(scale: float) -> None:
    layer = embedding()
    with torch.no_grad():
        layer.weight.mul_(scale)
    (found,) = noise(layer, [tokens(0, 64, 50)])
    assert found.std().item() == pytest.approx(0.5 * layer.weight.square().mean().sqrt().item(), rel=0.01)
    assert abs(found.mean().item()) < 0.01 * scale


def test_it_depends_on_neither_batch_size_nor_padding() -> None:
    layer, whole_BL = embedding(), tokens(0, 6, 9)
    (together,) = noise(layer, [whole_BL])
    apart = noise(layer, [whole_BL[:1], whole_BL[1:4, :5], whole_BL[4:]])
    for rows, found in zip((slice(0, 1), slice(1, 4), slice(4, 6)), apart, strict=True):
        torch.testing.assert_close(found, together[rows, : found.shape[1]])


def test_every_entry_has_noise_of_its_own_and_the_seed_decides() -> None:
    layer, whole_BL = embedding(), tokens(0, 6, 9)
    (one,), (again,), (other,) = (noise(layer, [whole_BL], seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.isclose(one, other).any(-1).any(-1).all()
    assert one.flatten(0, 1).unique(dim=0).shape[0] == 54


def test_a_model_is_as_before_afterwards_also_after_an_error() -> None:
    network = model("ln", "pre", "lm").eval()
    before = network(tokens(0))
    with noisy(network.embedding, 0.5, 0):
        assert (network(tokens(0)) - before).abs().max() > 1e-2
    with pytest.raises(ZeroDivisionError), noisy(network.embedding, 0.5, 0):
        raise ZeroDivisionError
    assert torch.equal(network(tokens(0)), before)
