"""AdamW with warm-up and a schedule.

Parameters come in two groups, with and without weight decay; the model says by module type which is which.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import Optimizer

from normtrial.errors import not_one_of, require

SCHEDULES = ("cosine", "constant")
OPTIMIZERS = ("adamw",)
# What `optim.eps=null` stands for, torch's own and another for float16 weights: there a second moment below 6e-8
# is stored as 0, and so is 1e-8, and a gradient of 3e-4 would move a weight by 100 lr in the second step.
EPS = 1e-8
FLOAT16_EPS = 1e-4


@dataclass(kw_only=True, slots=True)
class OptimConfig:
    """Options of the optimizer."""

    name: str  # adamw
    lr: float  # peak learning rate
    weight_decay: float  # decoupled; on matrices of linear maps only, never on norms, biases or embeddings
    beta1: float  # decay of the mean of gradients
    beta2: float  # decay of the mean of squared gradients
    eps: float | None  # added to the root of the second moment; null: 1e-8, and 1e-4 for weights in float16
    warmup_steps: int | None  # steps of linear rise to lr; null: a tenth of train.steps
    schedule: str  # cosine: down to a tenth of lr at the last step; constant: stays at lr
    clip: float | None  # largest global gradient norm; null does not clip

    def check(self) -> None:
        """Ranges and names."""
        if self.name not in OPTIMIZERS:
            raise not_one_of("optim.name", self.name, OPTIMIZERS)
        if self.schedule not in SCHEDULES:
            raise not_one_of("optim.schedule", self.schedule, SCHEDULES)
        require(0 < self.lr < math.inf, f"optim.lr={self.lr} must be positive and finite.")
        require(0 <= self.weight_decay < math.inf, f"optim.weight_decay={self.weight_decay} must not be negative.")
        for name in ("beta1", "beta2"):
            require(0 <= getattr(self, name) < 1, f"optim.{name}={getattr(self, name)} must lie in [0, 1).")
        require(self.eps is None or 0 < self.eps < 1, f"optim.eps={self.eps} must lie in (0, 1), or be null.")
        require(
            self.warmup_steps is None or self.warmup_steps >= 0,
            f"optim.warmup_steps={self.warmup_steps} must not be negative.",
        )
        require(
            self.clip is None or 0 < self.clip < math.inf,
            f"optim.clip={self.clip} must be positive; null switches clipping off.",
        )


def build_optimizer(config: OptimConfig, decayed: list[nn.Parameter], undecayed: list[nn.Parameter]) -> Optimizer:
    """AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101) over the two groups; state in the weights' dtype."""
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": undecayed, "weight_decay": 0.0},
    ]
    in_float16 = any(p.dtype == torch.float16 for p in (*decayed, *undecayed))
    eps = config.eps or (FLOAT16_EPS if in_float16 else EPS)
    return torch.optim.AdamW(groups, lr=config.lr, betas=(config.beta1, config.beta2), eps=eps, fused=True)


def learning_rate(config: OptimConfig, step: int, num_steps: int) -> float:
    """The rate of update `step` = 1 … num_steps.

    Warm-up: lr · step / warmup. Then cosine: lr · (0.1 + 0.9 · (1 + cos(π t)) / 2) with t from 0 to 1
    over the steps that are left, or constant.
    """
    warmup = num_steps // 10 if config.warmup_steps is None else config.warmup_steps
    if step < warmup:
        return config.lr * step / warmup
    if config.schedule == "constant":
        return config.lr
    left = max(1, num_steps - warmup)
    share = min(1.0, (step - warmup) / left)
    return config.lr * (0.1 + 0.45 * (1 + math.cos(math.pi * share)))
