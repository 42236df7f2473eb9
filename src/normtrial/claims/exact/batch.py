"""BatchNorm on text: C02, C33-C41.

Shapes: B examples, L positions, D model width.
"""

from typing import Any

import torch
from torch import Tensor

from normtrial.claims.exact.kit import Parts, apart, gradient, measure, norm, normal, raises
from normtrial.norms.batch.running import RunningNorm
from normtrial.norms.torch_own import TorchBatchNorm


@measure
def batch_norm_groups() -> Parts:
    """Sets of statistics for a batch, and pairs of numbers in one."""
    layer = norm("bn", 512).train()
    layer(normal(8, 16, 512))
    assert isinstance(layer, RunningNorm) and layer.observed is not None
    pairs = layer.observed.mean.numel()
    return {"sets": pairs / 512, "pairs": float(pairs)}


@measure
def channels_last() -> Parts:
    """Whether torch's BatchNorm takes (B, L, D) as it is; a batch whose L is D is the silent case."""
    return {
        "runs_on_batch_first": 1 - raises(lambda: TorchBatchNorm(512).double()(normal(8, 100, 512))),
        "runs_on_padded_sequences": 1 - raises(lambda: TorchBatchNorm(64).double()(normal(30, 8, 64))),
        "runs_where_length_is_width": 1 - raises(lambda: TorchBatchNorm(64).double()(normal(8, 64, 64))),
    }


@measure
def future() -> Parts:
    """∂y₀/∂x_t for later t of the same sentence, in training and in evaluation."""
    x_BLD, found = normal(4, 6, 8), Parts()
    for name in ("bn", "bn_pos"):
        layer = norm(name, 8, max_len=6).train()
        layer(x_BLD)
        for mode in ("training", "evaluation"):
            layer.train(mode == "training")
            found[f"{name}_{mode}"] = _later(layer, x_BLD)
    return found


def _later(layer: Any, x_BLD: Tensor) -> float:
    return gradient(lambda x: layer(x)[0, :1], x_BLD)[0, 1:].abs().max().item()


@measure
def train_and_eval() -> Parts:
    """Output in training against evaluation, of the same norm on the same input."""
    x_BLD, found = 2 + normal(4, 6, 8), Parts()
    for name in ("bn", "ln"):
        layer = norm(name, 8).train()
        training = layer(x_BLD)
        found[name] = apart(training, layer.eval()(x_BLD))
    return found


@measure
def single_sample() -> Parts:
    """Where one sample is too few: training on one token, training on one sentence, evaluation of one token."""
    layer = norm("bn", 8)
    return {
        "one_token_in_training_raises": raises(lambda: layer.train()(normal(1, 1, 8))),
        "one_sentence_in_training_raises": raises(lambda: layer.train()(normal(1, 5, 8))),
        "one_token_in_evaluation_raises": raises(lambda: layer.eval()(normal(1, 1, 8))),
    }


@measure
def padding_share() -> Parts:
    """Mean and deviation of valid tokens after BatchNorm with zero pads counted; valid ones have mean 1, sd 2."""
    found: Parts = {}
    for share in (0.5, 0.92):
        x_BLD, num = 1 + 2 * normal(1, 20_000, 4), int(20_000 * share)
        x_BLD[:, :num] = 0.0
        y_BLD = norm("bn", 4, padding="include").train()(x_BLD)[:, num:]
        found[f"mean_at_{share:g}"] = y_BLD.mean().item()
        found[f"deviation_at_{share:g}"] = y_BLD.std().item()
    return found


@measure
def dependent_channels() -> Parts:
    """How far from mean 0 and variance 1 BatchNorm leaves channels that are copies of each other."""
    y_BLD = norm("bn", 8).train()(3 + 2 * normal(8, 100, 1).expand(8, 100, 8))
    moments = torch.stack([y_BLD.mean((0, 1)).abs(), (y_BLD.var((0, 1), correction=0) - 1).abs()])
    return {"error": moments.max().item()}


@measure
def late_positions() -> Parts:
    """Standard error of a position's mean, 50th over first; lengths uniform from 5 to 50."""
    lengths_B = torch.randint(5, 51, (2_000,), generator=torch.Generator().manual_seed(0))
    counts_L = (torch.arange(50) < lengths_B[:, None]).sum(0).double()
    return {"error_ratio": (counts_L[0] / counts_L[-1]).sqrt().item()}


@measure
def unseen_positions() -> Parts:
    """Whether evaluation beyond the training length is an error."""
    found: Parts = {}
    layers = {"bn_pos": norm("bn_pos", 8, max_len=6, unseen="raise"), "bn": norm("bn", 8)}
    for name, layer in layers.items():
        layer.train()
        layer(normal(4, 6, 8))
        layer.eval()
        found[f"{name}_raises"] = raises(lambda layer=layer: layer(normal(4, 9, 8)))
    return found


@measure
def mixes_positions() -> Parts:
    """What position 1 does to position 0 in training: over dimension 0 alone, and over batch and positions."""
    x_BLD = normal(4, 6, 8)
    moved_BLD = x_BLD.clone()
    moved_BLD[:, 1] += normal(4, 8)
    layers = {"over_samples": norm("bn_pos", 8, max_len=6), "over_samples_and_positions": norm("bn", 8)}
    return {
        name: apart(layer.train()(x_BLD)[:, 0], layer.train()(moved_BLD)[:, 0]) for name, layer in layers.items()
    }
