"""A small Transformer, encoder classifier or causal language model from the same blocks.

Shapes: B examples, L positions, D model width, V vocabulary, C classes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.errors import not_one_of, require
from normtrial.network.attention import SelfAttention
from normtrial.network.blocks import ACTIVATIONS, DROPPED, Block, Mlp
from normtrial.network.convolution import MIXERS, Convolution
from normtrial.network.heads import Classifier, LanguageModelHead
from normtrial.network.init import initialize
from normtrial.network.positions import ADDED, POSITIONS
from normtrial.network.recompute import recomputed
from normtrial.norms.base import Norm, NormConfig
from normtrial.norms.catalogue import build_norm
from normtrial.norms.heads import QK_NORMS
from normtrial.placements.base import PlacementConfig
from normtrial.placements.catalogue import placement_class
from normtrial.sites import Sites


@dataclass(kw_only=True, slots=True)
class ModelConfig:
    """Size and make of the Transformer."""

    num_layers: int  # blocks
    d_model: int  # D, width of the residual stream
    num_heads: int  # attention heads; must divide d_model; a ConvNet has none
    d_ff: int  # F, width inside the MLP
    mixer: str  # attention; or, at its sites, conv1d over neighbouring tokens, conv2d over square images
    dropout: float  # share dropped after the embedding and within each block, in [0, 1)
    dropout_on: str  # branches: each sublayer's output; norms: instead that of the block's own norms around them
    activation: str  # gelu or relu
    positions: str  # learned, sinusoidal or rotary; the last two take any length
    tie: bool  # a language model's head uses the embedding matrix
    qk_norm: str  # none, l2, ln or rms: on queries and keys, each head by itself
    embed_norm: bool  # the configured norm between embedding and first block
    checkpoint_activations: bool  # compute blocks again in the backward pass instead of keeping activations

    def check(self) -> None:
        """Ranges, and what must divide what."""
        for name in ("num_layers", "d_model", "num_heads", "d_ff"):
            value = getattr(self, name)
            require(value >= 1, f"model.{name}={value} must be at least 1.")
        require(
            self.mixer != "attention" or self.d_model % self.num_heads == 0,
            f"model.d_model={self.d_model} is not divisible by model.num_heads={self.num_heads}; "
            f"heads that divide it: {', '.join(map(str, _divisors(self.d_model)))}.",
        )
        require(0 <= self.dropout < 1, f"model.dropout={self.dropout} must lie in [0, 1).")
        if self.dropout_on not in DROPPED:
            raise not_one_of("model.dropout_on", self.dropout_on, DROPPED)
        if self.mixer not in MIXERS:
            raise not_one_of("model.mixer", self.mixer, MIXERS)
        if self.activation not in ACTIVATIONS:
            raise not_one_of("model.activation", self.activation, ACTIVATIONS)
        if self.positions not in POSITIONS:
            raise not_one_of("model.positions", self.positions, POSITIONS)
        require(
            self.positions != "rotary" or self.d_model // self.num_heads % 2 == 0,
            f"model.positions=rotary turns pairs of features, and a head has {self.d_model // self.num_heads} "
            "(model.d_model / model.num_heads); make that even.",
        )
        if self.qk_norm not in QK_NORMS:
            raise not_one_of("model.qk_norm", self.qk_norm, QK_NORMS)
        turned = self.qk_norm != "none" or self.positions == "rotary"
        require(
            self.mixer == "attention" or not turned,
            f"model.mixer={self.mixer} has no queries and keys: leave model.qk_norm=none, and choose "
            "model.positions=learned or sinusoidal.",
        )


class Transformer(nn.Module):
    """Embedding, a norm where wanted, blocks, final norm where the placement needs one, head.

    Args:
        causal: a language model (logits (B, L, V)); else a classifier (logits (B, C), masked mean pooling).
        num_outputs: V or C.
        max_len: the longest input of training, which learned positions need.
        seed: of the initial weights.
    """

    def __init__(
        self,
        model: ModelConfig,
        norm: NormConfig,
        placement: PlacementConfig,
        *,
        vocab_size: int,
        num_outputs: int,
        max_len: int,
        causal: bool,
        seed: int,
    ):
        super().__init__()
        D = model.d_model
        on_branches, on_norms = (model.dropout * (model.dropout_on == place) for place in DROPPED)
        self.dropout, self.checkpoint_activations = model.dropout, model.checkpoint_activations
        self.embedding = nn.Embedding(vocab_size, D)
        self.positions = ADDED[model.positions](D, max_len) if model.positions in ADDED else None
        self.wiring = placement_class(placement)
        embed_norm = model.embed_norm or self.wiring.embed_norm
        self.embed_norm = build_norm(D, norm, max_len) if embed_norm else None
        self.blocks = nn.ModuleList(
            Block(
                build_mixer(model, on_branches, max_len, causal),
                Mlp(D, model.d_ff, model.activation, on_branches),
                self.wiring(placement, layer, model.num_layers),
                lambda width: build_norm(width, norm, max_len),
                on_norms,
            )
            for layer in range(model.num_layers)
        )
        self.final_norm = build_norm(D, norm, max_len) if self.wiring.final_norm else None
        tied = self.embedding if model.tie else None
        self.head = LanguageModelHead(D, num_outputs, tied) if causal else Classifier(D, num_outputs)
        initialize(self, seed)

    def forward(self, tokens_BL: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Logits; `mask_BL` is True at valid tokens, None where all are."""
        scale = math.sqrt(self.embedding.embedding_dim)
        x_BLD = self.embedding(tokens_BL)
        if self.positions is not None:
            x_BLD = x_BLD + self.positions(tokens_BL.shape[1])
        x_BLD = x_BLD * scale
        if self.embed_norm is not None:
            x_BLD = self.embed_norm(x_BLD, mask_BL, x_BLD)
        dropped_BLD = F.dropout(x_BLD, self.dropout, self.training)
        return self.head(self.trunk(dropped_BLD, mask_BL, cond_BLD=x_BLD), mask_BL)

    def trunk(self, x_BLD: Tensor, mask_BL: Tensor | None, cond_BLD: Tensor) -> Tensor:
        """From the embedded input to what the head sees: the blocks, and the final norm where there is one."""
        stream = self.wiring.enter(x_BLD)
        again = self.training and self.checkpoint_activations
        for block in self.blocks:
            stream = recomputed(block, stream, mask_BL, cond_BLD) if again else block(stream, mask_BL, cond_BLD)

        def final_norm(x_BLD: Tensor) -> Tensor:
            return x_BLD if self.final_norm is None else self.final_norm(x_BLD, mask_BL, cond_BLD)

        return self.wiring.leave(stream, final_norm)

    def sites(self, blocks: bool = False) -> Sites:
        """Every place that is watched, in the order of the forward pass, under its stable name.

        Together they hold every parameter of the model. One site may contain another, which then stands before
        it; `sites.own_parameters` gives each parameter to one of them. With `blocks` each block follows its parts;
        its output is the residual stream after it.
        """
        found: Sites = {"embed": self.embedding}
        if self.positions is not None:
            found["positions"] = self.positions
        if self.embed_norm is not None:
            found["embed_norm"] = self.embed_norm
        for layer, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            found |= {f"block{layer:02d}.{name}": module for name, module in block.sites().items()}
            found |= {f"block{layer:02d}": block} if blocks else {}
        if self.final_norm is not None:
            found["final_norm"] = self.final_norm
        return found | {"head": self.head}

    def norms(self) -> Iterator[Norm]:
        """Every norm instance."""
        return (module for module in self.modules() if isinstance(module, Norm))

    def penalty(self) -> Tensor | None:
        """Sum of what the norms add to the training loss; None where none does."""
        terms = [term for norm in self.norms() if (term := norm.penalty()) is not None]
        return torch.stack(terms).sum() if terms else None

    def parameter_groups(self) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
        """(with weight decay, without): matrices and filters outside the norms decay, nothing else does."""
        in_norms = {id(p) for norm in self.norms() for p in norm.parameters()}
        linears = (module for module in self.modules() if isinstance(module, nn.Linear | nn.Conv1d | nn.Conv2d))
        decayed = [linear.weight for linear in linears if id(linear.weight) not in in_norms]
        ids = {id(p) for p in decayed} - {id(self.embedding.weight)}
        return (
            [p for p in self.parameters() if id(p) in ids],
            [p for p in self.parameters() if id(p) not in ids],
        )


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


def build_mixer(model: ModelConfig, dropout: float, max_len: int, causal: bool) -> SelfAttention | Convolution:
    """What mixes the positions of one block."""
    if model.mixer != "attention":
        return Convolution(model.d_model, dropout, 1 if model.mixer == "conv1d" else 2, causal)
    rotary = model.positions == "rotary"
    return SelfAttention(model.d_model, model.num_heads, dropout, causal, model.qk_norm, max_len, rotary)
