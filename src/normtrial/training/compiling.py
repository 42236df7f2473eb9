"""torch.compile with what this project's models need."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def compiled(model: nn.Module, **options: Any) -> Callable[..., Tensor]:
    """The model's forward pass, compiled on first use; it shares parameters and buffers with the model.

    Norms over valid tokens gather a number of them that only the data tell; tracing that needs a setting.
    """
    torch._dynamo.config.capture_dynamic_output_shape_ops = True
    return torch.compile(model, **options)
