"""In which number format a run computes: what the weights are kept in, what autocast computes in.

`norm.stats_dtype` is an axis of its own: with `fp32` a norm takes its statistics in float32 or better, whatever
the format here. On a CPU and on a GPU the same formats mean the same.
"""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch.amp.grad_scaler import GradScaler

from normtrial.errors import not_one_of, require


@dataclass(frozen=True, slots=True)
class Format:
    """A number format."""

    weights: torch.dtype  # of parameters, gradients and floating-point buffers
    autocast: torch.dtype | None = None  # of matrix products, where it is not that of the weights
    scaled: bool = False  # the loss is scaled up before the backward pass, since small gradients would round to 0

    @property
    def compute(self) -> torch.dtype:
        """What most of the forward pass is computed in."""
        return self.autocast or self.weights

    @property
    def is_half(self) -> bool:
        """Two bytes a number."""
        return self.compute.itemsize == 2


FORMATS = {
    "fp32": Format(torch.float32),
    "bf16": Format(torch.float32, autocast=torch.bfloat16),
    "fp16": Format(torch.float32, autocast=torch.float16, scaled=True),
    "bf16_pure": Format(torch.bfloat16),
    "fp16_pure": Format(torch.float16),
    "fp64": Format(torch.float64),
}


@dataclass(kw_only=True, slots=True)
class PrecisionConfig:
    """Options of the number format."""

    compute: str  # fp32, fp64; bf16: autocast over float32 weights; bf16_pure, fp16_pure: weights in it too

    def check(self) -> None:
        """A known format; one that scales its loss has the options for it."""
        if self.compute not in FORMATS:
            raise not_one_of("precision.compute", self.compute, FORMATS)
        scaled = isinstance(self, ScaledConfig)
        require(
            scaled == self.format.scaled,
            f"precision.compute={self.compute} {'has no scaled loss' if scaled else 'needs a scaled loss'}; "
            f"choose precision={self.compute} instead.",
        )

    @property
    def format(self) -> Format:
        """The named format."""
        return FORMATS[self.compute]


@dataclass(kw_only=True, slots=True)
class ScaledConfig(PrecisionConfig):
    """Options of a format whose loss is scaled (fp16): Micikevicius et al. 2018, arXiv 1710.03740, section 3.2."""

    initial_scale: float  # factor on the loss at the start; halved whenever a gradient overflows
    growth_interval: int  # steps without an overflow after which the factor is doubled

    def check(self) -> None:
        """Both at least one."""
        PrecisionConfig.check(self)
        for name in ("initial_scale", "growth_interval"):
            value = getattr(self, name)
            require(1 <= value < 2**31, f"precision.{name}={value} must lie between 1 and 2^31 - 1.")


def computing_in(config: PrecisionConfig, device: str) -> AbstractContextManager:
    """The context in which forward passes run."""
    dtype = config.format.autocast
    return nullcontext() if dtype is None else torch.autocast(device.split(":")[0], dtype=dtype)


def build_scaler(config: PrecisionConfig, device: str) -> GradScaler:
    """What scales the loss; in formats that need no scaling it passes everything through."""
    kind = device.split(":")[0]
    if not isinstance(config, ScaledConfig):
        return GradScaler(kind, enabled=False)
    return GradScaler(kind, init_scale=config.initial_scale, growth_interval=config.growth_interval)
