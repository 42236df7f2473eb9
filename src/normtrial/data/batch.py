"""What the loop sees of the data: a `Batch` of tokens and the `Task` it belongs to.

B examples, L positions.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass(slots=True, eq=False)
class Batch:
    """Tokens, which of them are valid, and what to predict."""

    tokens_BL: Tensor  # int64
    mask_BL: Tensor | None  # bool, True = valid; None where every token is (packed LM windows)
    targets: Tensor  # int64: labels (B,) or next tokens (B, L)

    def to(self, device: torch.device | str) -> "Batch":
        """The same batch on another device."""
        mask_BL = None if self.mask_BL is None else self.mask_BL.to(device)
        return Batch(self.tokens_BL.to(device), mask_BL, self.targets.to(device))

    @property
    def num_tokens(self) -> int:
        """Valid tokens; padding doesn't count."""
        return self.tokens_BL.numel() if self.mask_BL is None else int(self.mask_BL.sum())


@dataclass(slots=True, frozen=True)
class Task:
    """What is to be predicted, and how well a predictor does that looks at nothing."""

    kind: str  # "classification" or "lm"
    num_outputs: int  # classes or vocabulary
    vocab_size: int  # after training: may be below the `data.vocab_size` asked for
    labels: tuple[str, ...]  # by class index; empty for lm
    trivial_loss_nats: float  # on validation, by the smoothed training prior of classes or tokens
    trivial_accuracy: float | None  # on validation, always saying the commonest training class; None for lm
    tokens_per_char: dict[str, float]  # by split: turns nats a token into bits a character
    tokens_per_byte: dict[str, float] = field(default_factory=dict)  # of UTF-8; compares between scripts too
