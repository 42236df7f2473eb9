"""The same model built with x-transformers, in the bare loop."""

from collections.abc import Iterable
from pathlib import Path

from torch import Tensor, nn

from normtrial.benchmark.steps import bare
from normtrial.benchmark.steps.shape import Shape
from normtrial.data.batch import Batch

NAME = "x-transformers"
UNLIKE = "projections in attention and norms have no biases"
PACKAGES = ("x_transformers",)


class Masked(nn.Module):
    """Takes our arguments."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens_BL: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Logits."""
        return self.model(tokens_BL, mask=mask_BL)


def build(shape: Shape) -> nn.Module:
    """Learned positions, fused attention, dropout where ours is; classifiers pool over valid positions."""
    from x_transformers import Decoder, Encoder, TransformerWrapper  # pyright: ignore[reportMissingImports]

    layers = (Decoder if shape.is_lm else Encoder)(
        dim=shape.d_model,
        depth=shape.num_layers,
        heads=shape.num_heads,
        attn_dim_head=shape.d_model // shape.num_heads,
        attn_flash=True,
        attn_sublayer_dropout=shape.dropout,
        ff_mult=shape.d_ff / shape.d_model,
        ff_sublayer_dropout=shape.dropout,
        verbose=False,
    )
    return Masked(
        TransformerWrapper(
            num_tokens=shape.vocab_size,
            max_seq_len=shape.max_len,
            attn_layers=layers,
            emb_dropout=shape.dropout,
            tie_embedding=shape.is_lm and shape.tie,
            logits_dim=None if shape.is_lm else shape.num_outputs,
            average_pool_embed=not shape.is_lm,
        )
    )


def train(shape: Shape, model: nn.Module, batches: Iterable[Batch], folder: Path) -> None:
    """By hand: x-transformers has no loop."""
    bare.train(shape, model, batches, folder)
