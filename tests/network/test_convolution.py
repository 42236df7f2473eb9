"""The ConvNet: filters against loops, padding and the future unseen, and what it cannot be combined with.

Shapes: B examples, L positions, D model width, S side of an image.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from normtrial.config import Config
from normtrial.errors import ConfigError
from normtrial.identity import run_id
from normtrial.network.convolution import Convolution
from tests.network.models import SMALL, VOCABULARY, build, small, tokens
from tests.norms.options import settings

B, D, S = 3, 5, 4


def looped(layer: Convolution, x_BLD: Tensor, grid: dict[tuple[int, int], int]) -> Tensor:
    """y at a place: the weights of each neighbour that there is, times what it holds, summed."""
    weight, bias = layer.filter.weight, layer.filter.bias
    assert bias is not None
    weight_DDRC = weight[:, :, None] if weight.ndim == 3 else weight
    y_BLD = torch.zeros_like(x_BLD)
    for (row, column), t in grid.items():
        for r in range(weight_DDRC.shape[2]):
            for c in range(3):
                shift = c - 2 if layer.causal else c - 1
                neighbour = grid.get((row + (r - 1 if weight.ndim == 4 else 0), column + shift))
                if neighbour is not None:
                    y_BLD[:, t] += x_BLD[:, neighbour] @ weight_DDRC[:, :, r, c].T
        y_BLD[:, t] += bias
    return y_BLD


@pytest.mark.parametrize(("dimensions", "causal"), [(1, False), (1, True), (2, False)])
def test_a_filter_equals_loops(dimensions: int, causal: bool) -> None:
    torch.manual_seed(0)
    layer, x_BLD = Convolution(D, 0.0, dimensions, causal).double(), torch.randn(B, S * S, D).double()
    line = {(0, t): t for t in range(S * S)}
    square = {(t // S, t % S): t for t in range(S * S)}
    torch.testing.assert_close(layer(x_BLD), looped(layer, x_BLD, line if dimensions == 1 else square))


def test_pads_count_as_nothing() -> None:
    layer, x_BLD = Convolution(D, 0.0, 1, causal=False), torch.randn(B, 6, D)
    mask_BL = torch.arange(6) < torch.tensor([[6], [4], [1]])
    rubbish = x_BLD.masked_fill(~mask_BL[..., None], float("nan"))
    y_BLD = layer(rubbish, mask_BL)
    torch.testing.assert_close(y_BLD[1, :4], layer(x_BLD[1:2, :4])[0])


def test_a_language_model_of_filters_does_not_see_the_future() -> None:
    model = build(small("ln", "pre", "lm", model__mixer="conv1d")).eval()
    given_BL = tokens(0)
    changed_BL = given_BL.clone()
    changed_BL[:, 4:] = (changed_BL[:, 4:] + 1) % VOCABULARY
    before, after = model(given_BL), model(changed_BL)
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])
    assert not torch.allclose(before[:, 3], before[:, 2])


def test_filters_decay() -> None:
    model = build(small("bn", "pre", model__mixer="conv1d"))
    decayed = {id(parameter) for parameter in model.parameter_groups()[0]}
    filters = [module for module in model.modules() if isinstance(module, nn.Conv1d)]
    assert filters
    assert all(id(module.weight) in decayed and id(module.bias) not in decayed for module in filters)


def test_images_are_learnt(trial: Callable[..., Config], train: Callable[[Config], float | None]) -> None:
    images = ("data=digits", "data.vocab_size=null", "data.max_len=64", "data.limit=400", "data.batch_size=32")
    config = trial(*images, "model.mixer=conv2d", "norm=bn", "train.steps=40", "optim.lr=1e-2")
    accuracy = train(config)
    assert accuracy is not None
    assert accuracy > 0.3, "a tenth is chance"


def test_an_image_is_square() -> None:
    with pytest.raises(ValueError, match="10 is no square"):
        Convolution(D, 0.0, 2, causal=False)(torch.randn(B, 10, D))


def test_its_initial_weights_keep_the_size_of_what_passes() -> None:
    model = build(
        settings("data=digits", values=SMALL | {"data.max_len": 64, "model.mixer": "conv2d", "model.d_model": 64})
    )
    filters = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    assert len(filters) == SMALL["model.num_layers"]
    for module in filters:
        assert module.weight.std().item() == pytest.approx((2 / (9 * (64 + 64))) ** 0.5, rel=0.05)


@pytest.mark.parametrize(
    ("choices", "values", "message"),
    [
        (["data=bbc"], {"mixer": "conv2d"}, "square images.*data=digits"),
        (["data=bbc"], {"mixer": "conv"}, "did you mean 'conv2d'"),
        (["data=bbc"], {"mixer": "conv1d", "positions": "rotary"}, "no queries and keys"),
        (["data=bbc"], {"mixer": "conv1d", "qk_norm": "rms"}, "no queries and keys"),
        (["data=bbc", "placement=hybrid"], {"mixer": "conv1d"}, "placement=hybrid has norms within attention"),
        (["data=bbc", "placement=subln"], {"mixer": "conv1d"}, "placement=subln has norms within attention"),
        (["data=digits", "data.max_len=36"], {"mixer": "conv2d"}, "whole images of 64 pixels"),
        (["data=digits", "eval.max_len=[36]"], {"mixer": "conv2d"}, "whole images of 64 pixels"),
    ],
)
def test_what_does_not_fit_is_refused(choices: list[str], values: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings(*choices, values={f"model.{key}": value for key, value in values.items()})


def test_runs_of_attention_keep_the_ids_that_they_had_before_there_was_a_choice() -> None:
    known = "3cac2bfa9ab3"  # of a commit before model.mixer
    assert run_id(settings("data=bbc"), "text") == known
    assert run_id(settings("data=bbc", values={"model.mixer": "conv1d"}), "text") != known
