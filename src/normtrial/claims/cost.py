"""Claims about time and memory: times by interleaved pairs, and the bytes that a backward pass keeps. On a CPU.

Ratios of times are of CPU time in this process, one a pair. Kernels are named in the parts.

Shapes: B examples, L positions, D model width.
"""

import time
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from normtrial.benchmark.pairs import paired_ratios
from normtrial.claims.exact.kit import norm
from normtrial.norms.torch_own import functional_layer_norm, torch_rms_norm

Function = Callable[[Tensor], Tensor]
NUM_PAIRS, A_TURN_S = 41, 0.02
MEASURES: dict[str, Callable[[], dict[str, list[float] | float]]] = {}


def measure(function: Callable[[], dict[str, list[float] | float]]) -> Callable:
    """Make a measurement known under its name."""
    MEASURES[function.__name__] = function
    return function


def turn(function: Function, x_BLD: Tensor, times: int) -> None:
    """Forward and backward, several times."""
    for _ in range(times):
        x_BLD.grad = None
        function(x_BLD).sum().backward()


def ratios(one: Function, other: Function, x_BLD: Tensor, y_BLD: Tensor | None = None) -> list[float]:
    """Time of `other` over that of `one`, forward and backward; on another input where one is given."""
    x_BLD = x_BLD.requires_grad_()
    y_BLD = x_BLD if y_BLD is None else y_BLD.requires_grad_()
    turn(one, x_BLD, 1)
    began = time.process_time()
    turn(one, x_BLD, 3)
    times = max(1, round(3 * A_TURN_S / max(time.process_time() - began, 1e-4)))
    turns = partial(turn, one, x_BLD, times), partial(turn, other, y_BLD, times)
    return paired_ratios(*turns, NUM_PAIRS, time.process_time)


def saved_bytes(function: Function, x_BLD: Tensor) -> int:
    """Bytes kept for the backward pass, the input's too where it is kept; functions have no parameters here."""
    storages: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        kept_alive = function(x_BLD)  # a freed storage would give its address to the next
    assert kept_alive.requires_grad
    return sum(storages.values())


def fused_layer_norm(x_BLD: Tensor) -> Tensor:
    """torch's LayerNorm."""
    return functional_layer_norm(x_BLD, x_BLD.shape[-1:])


def layer_norm_by_hand(x_BLD: Tensor) -> Tensor:
    """Step by step."""
    mean = x_BLD.mean(-1, keepdim=True)
    return (x_BLD - mean) * torch.rsqrt((x_BLD - mean).square().mean(-1, keepdim=True) + 1e-5)


def rms_norm_by_hand(x_BLD: Tensor) -> Tensor:
    """Step by step."""
    return x_BLD * torch.rsqrt(x_BLD.square().mean(-1, keepdim=True) + 1e-5)


def torchs_rms_norm(x_BLD: Tensor) -> Tensor:
    """torch's RMSNorm, on a CPU a chain of simple steps."""
    return torch_rms_norm(x_BLD, None, 1e-5)


def plain(name: str, width: int) -> Function:
    """One of ours without gain and shift, in float32 and in training mode."""
    return norm(name, width, dtype=torch.float32, affine=False, bias=False).train()


def inputs(batch: int = 16, length: int = 128, width: int = 256) -> Tensor:
    """Random float32 tokens that want a gradient."""
    return torch.randn(batch, length, width).requires_grad_()


@measure
def rms_over_layer_norm_time() -> dict[str, list[float] | float]:
    """Forward and backward time of RMSNorm over LayerNorm, (16, 128, 256)."""
    return {
        "torch": ratios(fused_layer_norm, torchs_rms_norm, inputs()),
        "by_hand": ratios(layer_norm_by_hand, rms_norm_by_hand, inputs()),
        "ours": ratios(plain("ln", 256), plain("rms", 256), inputs()),
    }


@measure
def rms_and_layer_norm_bytes() -> dict[str, list[float] | float]:
    """What LayerNorm keeps more than RMSNorm, in float32 tensors of (B, L); and one's share of the input."""
    x_BLD = inputs()
    statistic = x_BLD.shape[0] * x_BLD.shape[1] * 4
    kept = {
        name: saved_bytes(function, x_BLD) / statistic
        for name, function in (
            ("torch", torchs_rms_norm),
            ("ours", plain("rms", 256)),
            ("layer_norm", fused_layer_norm),
        )
    }
    return {
        "less_of_torch": kept["layer_norm"] - kept["torch"],
        "less_of_ours": kept["layer_norm"] - kept["ours"],
        "share_of_the_input": statistic / (x_BLD.numel() * 4),
    }


@measure
def batch_over_layer_norm_bytes() -> dict[str, list[float] | float]:
    """Bytes kept by BatchNorm over those kept by LayerNorm, (16, 128, 256)."""
    batch, layer = (saved_bytes(plain(name, 256), inputs()) for name in ("bn", "ln"))
    return {"ratio": batch / layer}


@measure
def bytes_by_length() -> dict[str, list[float] | float]:
    """Statistics kept at length 1024 over those at 128: for the backward pass, and as running ones by position."""
    found: dict[str, list[float] | float] = {}
    for name in ("bn", "ln"):
        layer = _statistics_only(plain(name, 256))
        short, long = (layer(inputs(2, length)) for length in (128, 1024))
        found[name] = long / short
    short, long = (
        sum(buffer.numel() for buffer in norm("bn_pos", 256, max_len=length).buffers()) for length in (128, 1024)
    )
    return found | {"bn_pos": long / short}


def _statistics_only(function: Function) -> Callable[[Tensor], float]:
    """Bytes kept that are not as large as the input."""

    def counted(x_BLD: Tensor) -> float:
        return saved_bytes(function, x_BLD) % (x_BLD.numel() * 4)  # without the input, or a shifted copy of it

    return counted


@measure
def time_by_axes() -> dict[str, list[float] | float]:
    """Time of LayerNorm at twice the batch; and of the whole sentence over token by token, one thread."""
    sentence: Function = lambda x: functional_layer_norm(x, x.shape[1:])  # noqa: E731
    return {
        "token_at_twice_the_batch": ratios(fused_layer_norm, fused_layer_norm, inputs(32), inputs(64)),
        "sentence_over_token": ratios(fused_layer_norm, sentence, inputs()),
    }
