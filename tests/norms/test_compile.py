"""torch.compile gives what eager gives, in one graph, for every norm in training and in evaluation."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from normtrial.norms.base import Norm
from normtrial.norms.catalogue import NORMS
from normtrial.training.compiling import compiled
from tests.norms.draws import randomize
from tests.norms.options import make

D, L = 8, 6
# torch warns about itself: its tracer instantiates an autograd function, its inductor imports script methods.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"),
]
MASK_BL = torch.arange(L) < torch.tensor([[6], [4], [2]])


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def pair(name: str, training: bool) -> tuple[Norm, Norm]:
    """The same norm twice, one step into training."""
    norms = tuple(randomize(make(name, D, L)).train() for _ in range(2))
    for norm in norms:
        outputs(norm, norm, 0)
    return norms[0].train(training), norms[1].train(training)


def outputs(norm: Norm, forward, seed: int) -> list[Tensor]:
    """Valid outputs, gradients and statistics after one pass."""
    g = torch.Generator().manual_seed(seed)
    x_BLD, cond_BLD = torch.randn(2, 3, L, D, generator=g).unbind(0)
    x_BLD.requires_grad_()
    norm.zero_grad()
    y = forward(x_BLD, MASK_BL, cond_BLD)[MASK_BL]
    (y * torch.linspace(-1, 1, D)).sin().sum().backward()
    gradients = [p.grad for p in (x_BLD, *norm.parameters()) if p.grad is not None]
    return [y.detach(), *gradients, *(b.double().clone() for b in norm.buffers())]


def assert_same(name: str, training: bool, backend: str) -> None:
    eager, other = pair(name, training)
    forward = compiled(other, backend=backend, fullgraph=True)  # a graph break is an error
    for seed in (1, 2):
        for wanted, given in zip(outputs(eager, eager, seed), outputs(other, forward, seed), strict=True):
            assert torch.allclose(given, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("training", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["train", "eval"])
@pytest.mark.parametrize("name", NORMS)
def test_one_graph_and_the_same_numbers(name: str, training: bool) -> None:
    assert_same(name, training, "aot_eager")


@pytest.mark.slow
@pytest.mark.parametrize("name", NORMS)
def test_the_default_compiler_gives_the_same_numbers(name: str) -> None:
    assert_same(name, True, "inductor")
