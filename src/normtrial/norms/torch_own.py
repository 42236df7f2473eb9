"""torch's own norms under names of ours: for claims that are about them. Models never use these."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

TorchLayerNorm = nn.LayerNorm
TorchBatchNorm = nn.BatchNorm1d
torch_layer_norm = torch.layer_norm
functional_layer_norm = F.layer_norm
HAS_RMS_NORM = hasattr(nn, "RMSNorm")


def torch_rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """torch's RMSNorm over the last axis."""
    return F.rms_norm(x, x.shape[-1:], weight, eps)


def layer_norm_statistics(x: Tensor, shape: list[int], eps: float = 1e-5) -> tuple[Tensor, Tensor]:
    """Mean and 1 / sqrt(σ² + eps) that LayerNorm over the trailing `shape` computes."""
    return torch.native_layer_norm(x, shape, None, None, eps)[1:]
