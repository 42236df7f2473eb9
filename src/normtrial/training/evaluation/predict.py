"""Losses, and evaluation that leaves no trace in the model.

Shapes: B examples, L positions, V vocabulary, C classes.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.data.batch import Batch, Task
from normtrial.training.metrics import Predictions

Context = Callable[[], AbstractContextManager]


def losses(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy in nats of each target, in float32 or better: logits (…, C), targets (…) → (…)."""
    flat = logits.flatten(0, -2)
    flat = flat.to(torch.promote_types(flat.dtype, torch.float32))
    return F.cross_entropy(flat, targets.flatten(), reduction="none").view(targets.shape)


def mean_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean cross-entropy in nats over examples, or over tokens of a language model."""
    flat = logits.flatten(0, -2)
    return F.cross_entropy(flat.to(torch.promote_types(flat.dtype, torch.float32)), targets.flatten())


@torch.no_grad()
def predict(
    model: nn.Module,
    batches: Iterable[Batch],
    task: Task,
    *,
    device: str = "cpu",
    computing: Context = nullcontext,
    tokens_per_char: float = float("nan"),
    tokens_per_byte: float = float("nan"),
) -> Predictions:
    """Run the model in evaluation mode over all batches and give its training mode back."""
    was_training = model.training
    model.eval()
    found: list[np.ndarray] = []
    predicted: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    try:
        for batch in batches:
            batch = batch.to(device)
            with computing():
                logits = model(batch.tokens_BL, batch.mask_BL)
            each = losses(logits, batch.targets)
            found.append(each.reshape(len(batch.targets), -1).mean(1).double().cpu().numpy())
            if task.kind == "classification":
                predicted.append(logits.argmax(-1).cpu().numpy())
                labels.append(batch.targets.cpu().numpy())
    finally:
        model.train(was_training)
    loss = np.concatenate(found)
    if task.kind != "classification":
        return Predictions(loss, tokens_per_char=tokens_per_char, tokens_per_byte=tokens_per_byte)
    return Predictions(loss, np.concatenate(predicted), np.concatenate(labels))
