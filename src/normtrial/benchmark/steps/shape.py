"""What all sides of a comparison have in common, and how many operations a step of it takes.

B examples, L positions, D model width, F feed-forward width, V vocabulary, C classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from normtrial.data.batch import Batch
from normtrial.training.optim import OptimConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A Pre-LN Transformer, its text and its optimizer, in plain values."""

    kind: str  # classification or lm
    num_layers: int
    d_model: int
    num_heads: int
    d_ff: int
    dropout: float
    tie: bool
    vocab_size: int
    num_outputs: int
    max_len: int
    optim: OptimConfig
    steps: int
    log_every: int

    @property
    def is_lm(self) -> bool:
        """A causal language model; else an encoder with a classifier."""
        return self.kind == "lm"

    def flops(self, batch: Batch) -> int:
        """Floating-point operations of a step: 6 N B L + 6 N_head M + 12 layers B L² D.

        N = layers (4 D² + 2 D F) counts the matrices of the blocks; a weight takes a multiplication and an
        addition for each token forward and twice that backward (for the gradients of input and weight), so six.
        N_head = D V over M = B L tokens in a language model, D C over M = B examples in a classifier. Attention
        multiplies L x K by K x L and L x L by L x K in every head: 4 L² D a layer and example, and twice that
        backward. Padding counts, for every side computes it; the upper half of a causal product counts too, which
        kernels may leave out; recomputing, norms, activations, dropout, embeddings, loss and optimizer do not.

        Source: Kaplan et al. 2020, arXiv 2001.08361, section 2.1, and Chowdhery et al. 2022 (PaLM),
        arXiv 2204.02311, appendix B.
        """
        B, L = batch.tokens_BL.shape
        D = self.d_model
        blocks = 6 * self.num_layers * (4 * D * D + 2 * D * self.d_ff) * B * L
        head = 6 * D * self.num_outputs * (B * L if self.is_lm else B)
        return blocks + head + 12 * self.num_layers * B * L * L * D


def total_flops(shape: Shape, batches: Sequence[Batch]) -> int:
    """Of a turn."""
    return sum(shape.flops(batch) for batch in batches)
