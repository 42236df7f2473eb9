"""A training loop as one writes it by hand, of nanoGPT's shape: no probes, no record, a line of text now and then.

The model computes what ours computes with norm=ln placement=pre (given our weights, a test finds our loss), in as
few calls as torch allows; the loop is the middle of nanoGPT's (https://github.com/karpathy/nanoGPT). There AdamW
is fused on CUDA only; here on the CPU as well, as on every side.

Shapes: B examples, L positions, D model width, H heads, K head width, V vocabulary, C classes.
"""

import math
import time
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from normtrial.benchmark.steps.shape import Shape
from normtrial.data.batch import Batch
from normtrial.training.optim import learning_rate

NAME = "bare loop"
PACKAGES: tuple[str, ...] = ()


class Attention(nn.Module):
    """All heads at once, in torch's fused kernel."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.num_heads, self.dropout, self.causal = shape.num_heads, shape.dropout, shape.is_lm
        self.c_attn = nn.Linear(shape.d_model, 3 * shape.d_model)
        self.c_proj = nn.Linear(shape.d_model, shape.d_model)

    def forward(self, x_BLD: Tensor, mask: Tensor | None) -> Tensor:
        """`mask` in the kernel's form, or None."""
        B, L, D = x_BLD.shape
        q, k, v = self.c_attn(x_BLD).split(D, dim=2)
        q, k, v = (y.view(B, L, self.num_heads, D // self.num_heads).transpose(1, 2) for y in (q, k, v))
        y_BHLK = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        y_BLD = self.c_proj(y_BHLK.transpose(1, 2).contiguous().view(B, L, D))
        return F.dropout(y_BLD, self.dropout, self.training)


class MLP(nn.Module):
    """Two linear maps."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.dropout = shape.dropout
        self.c_fc = nn.Linear(shape.d_model, shape.d_ff)
        self.c_proj = nn.Linear(shape.d_ff, shape.d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Each position by itself."""
        return F.dropout(self.c_proj(F.gelu(self.c_fc(x_BLD))), self.dropout, self.training)


class Block(nn.Module):
    """Pre-LN."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.attn, self.mlp = Attention(shape), MLP(shape)
        self.ln_1, self.ln_2 = nn.LayerNorm(shape.d_model), nn.LayerNorm(shape.d_model)

    def forward(self, x_BLD: Tensor, mask: Tensor | None) -> Tensor:
        """The stream after the block."""
        x_BLD = x_BLD + self.attn(self.ln_1(x_BLD), mask)
        return x_BLD + self.mlp(self.ln_2(x_BLD))


class Model(nn.Module):
    """Parameters in the order of ours, so that they can be copied."""

    def __init__(self, shape: Shape):
        super().__init__()
        self.shape = shape
        self.wte = nn.Embedding(shape.vocab_size, shape.d_model)
        self.wpe = nn.Embedding(shape.max_len, shape.d_model)
        self.h = nn.ModuleList(Block(shape) for _ in range(shape.num_layers))
        self.ln_f = nn.LayerNorm(shape.d_model)
        self.head = nn.Linear(shape.d_model, shape.num_outputs, bias=not shape.is_lm)
        for embedding in (self.wte, self.wpe):
            nn.init.normal_(embedding.weight, std=shape.d_model**-0.5)
        if shape.is_lm and shape.tie:
            self.head.weight = self.wte.weight

    def forward(self, tokens_BL: Tensor, mask_BL: Tensor | None = None) -> Tensor:
        """Logits, (B, L, V) or (B, C)."""
        x_BLD = (self.wte(tokens_BL) + self.wpe.weight[: tokens_BL.shape[1]]) * math.sqrt(self.shape.d_model)
        x_BLD = F.dropout(x_BLD, self.shape.dropout, self.training)
        mask = None if mask_BL is None else mask_BL[:, None, None, :]
        for block in self.h:
            x_BLD = block(x_BLD, mask)
        x_BLD = self.ln_f(x_BLD)
        if self.shape.is_lm:
            return self.head(x_BLD)
        if mask_BL is None:
            return self.head(x_BLD.mean(1))
        return self.head((x_BLD * mask_BL[:, :, None]).sum(1) / mask_BL.sum(1, keepdim=True))


def build(shape: Shape) -> nn.Module:
    """The model with weights of its own."""
    return Model(shape)


def mean_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Mean cross-entropy in nats."""
    logits = model(batch.tokens_BL, batch.mask_BL)
    return F.cross_entropy(logits.view(-1, logits.shape[-1]), batch.targets.view(-1))


def optimizer_of(shape: Shape, model: nn.Module) -> torch.optim.AdamW:
    """AdamW; matrices decay, embeddings and vectors don't."""
    optim = shape.optim
    embeddings = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    decayed = [p for p in model.parameters() if p.dim() >= 2 and id(p) not in embeddings]
    ids = {id(p) for p in decayed}
    groups = [
        {"params": decayed, "weight_decay": optim.weight_decay},
        {"params": [p for p in model.parameters() if id(p) not in ids], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=optim.lr, betas=(optim.beta1, optim.beta2), fused=True)


def train(shape: Shape, model: nn.Module, batches: Iterable[Batch], folder: Path) -> None:
    """Until the batches end; nothing is read from the model but the loss of a logged step."""
    model.train()
    optimizer = optimizer_of(shape, model)
    since = time.time()
    for number, batch in enumerate(batches):
        rate = learning_rate(shape.optim, number + 1, shape.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = mean_loss(model, batch)
        loss.backward()
        if shape.optim.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), shape.optim.clip)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if number % shape.log_every == 0:
            now = time.time()
            print(f"iter {number}: loss {loss.item():.4f}, time {(now - since) * 1000:.2f} ms")
            since = now
