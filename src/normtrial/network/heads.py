"""From the residual stream to logits.

Shapes: B examples, L positions, D model width, V vocabulary, C classes.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.norms.moments import masked_mean


class Classifier(nn.Module):
    """Mean over the valid positions, then a linear map D → C."""

    def __init__(self, d_model: int, num_classes: int):
        super().__init__()
        self.output = nn.Linear(d_model, num_classes)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Logits of shape (B, C)."""
        pooled_B1D, _ = masked_mean(x_BLD, mask_BL, "L")
        return self.output(pooled_B1D.squeeze(1))


class LanguageModelHead(nn.Module):
    """A linear map D → V without bias, its matrix tied to the embedding where one is given."""

    def __init__(self, d_model: int, vocab_size: int, tied: nn.Embedding | None):
        super().__init__()
        self.output = nn.Linear(d_model, vocab_size, bias=False)
        if tied is not None:
            self.output.weight = tied.weight

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Logits of shape (B, L, V)."""
        return F.linear(x_BLD, self.output.weight)
