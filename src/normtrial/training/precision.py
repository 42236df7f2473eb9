"""In which number format a step computes."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch

from normtrial.errors import not_one_of

AUTOCAST = {"fp32": None, "bf16": torch.bfloat16}


@dataclass(kw_only=True, slots=True)
class PrecisionConfig:
    """Options of the number format."""

    compute: str  # fp32: float32 throughout; bf16: autocast, weights and statistics stay in float32

    def check(self) -> None:
        """A known format."""
        if self.compute not in AUTOCAST:
            raise not_one_of("precision.compute", self.compute, AUTOCAST)


def computing_in(config: PrecisionConfig, device: str) -> AbstractContextManager:
    """The context in which forward passes run."""
    dtype = AUTOCAST[config.compute]
    return nullcontext() if dtype is None else torch.autocast(device.split(":")[0], dtype=dtype)
