"""Faults planted in a run, and what its record says about them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from normtrial import run
from normtrial.config import Config
from normtrial.network.model import Transformer
from normtrial.records import RunFolder, list_runs

Fault = Callable[[Transformer], Any]


@contextmanager
def at_step(step: int, fault: Fault) -> Iterator[None]:
    """Change the weights right before a step of the run that is trained meanwhile."""
    take = run.Loop._step

    def planted(loop: run.Loop, number: int) -> str | None:
        if number == step:
            assert isinstance(loop.s.model, Transformer)
            with torch.no_grad():
                fault(loop.s.model)
        return take(loop, number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run.Loop, "_step", planted)
        yield


def record(config: Config) -> tuple[dict[str, Any], list[dict[str, Any]], RunFolder]:
    """Summary, events and folder of the only run in a store."""
    (folder,) = list_runs(config.store)
    summary = folder.read_summary()
    assert summary is not None
    return summary, folder.read_events(), folder


def constant_tokens(model: Transformer) -> None:
    """Every token is one number, over and over, up to the first norm: its variance is 0."""
    model.embedding.weight.fill_(1 / 64)
    assert model.positions is not None
    for parameter in model.positions.parameters():
        parameter.zero_()
    bias = model.get_parameter("blocks.0.attention.output.bias")  # or all norms would meet such tokens
    bias.copy_(torch.linspace(-1, 1, len(bias)))


def large_tokens(model: Transformer) -> None:
    """Tokens with a root mean square of about 400."""
    model.embedding.weight.normal_(std=400 / model.embedding.embedding_dim**0.5)


def loss_overflows(model: Transformer) -> None:
    """Logits that are finite, and a loss that is not unless all is of the first class."""
    bias = model.head.get_submodule("output").get_parameter("bias")
    bias.copy_(torch.where(torch.arange(len(bias)) == 0, 3e38, -3e38))


def activation_overflows(model: Transformer) -> None:
    """A sum of large products in the first MLP."""
    model.get_parameter("blocks.0.mlp.input.weight").fill_(3e38)
    model.get_parameter("blocks.0.norm2.bias").fill_(1.0)


def gradient_overflows(model: Transformer) -> None:
    """1 / sqrt(eps) and a large gain are too much together, but only backward: forward both meet a zero."""
    constant_tokens(model)
    model.get_parameter("blocks.0.norm1.weight").fill_(1e37)


def batch_overflows(model: Transformer) -> None:
    """A feature of 3e38 in half of the tokens and of -3e38 in the others: finite, but their variance is not."""
    signs = 1 - 2 * (torch.arange(len(model.embedding.weight)) % 2)
    model.embedding.weight[:, 0] = 3e38 / model.embedding.embedding_dim**0.5 * signs
