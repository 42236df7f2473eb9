"""Gradients of a batch in several passes: what does not fit into memory at once is taken in micro-batches.

With norms that look at one example only, and without dropout, loss and gradients are those of the whole batch. A
norm over the batch sees micro-batches: its statistics are noisier, and its running ones move once for each.

Shapes: B examples, L positions.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

from torch import Tensor

from normtrial.data.batch import Batch
from normtrial.errors import require
from normtrial.training.evaluation.predict import Context, mean_loss


class Passes(Protocol):
    """What a step's forward and backward pass go through."""

    @property
    def forward(self) -> Callable[[Tensor, Tensor | None], Tensor]:
        """Tokens and mask to logits."""
        ...

    @property
    def computing(self) -> Context:
        """The precision's context."""
        ...

    @property
    def num_micro(self) -> int:
        """Micro-batches of a step."""
        ...

    @property
    def penalty(self) -> Callable[[], Tensor | None]:
        """What the model adds to the loss of its last forward pass."""
        ...


def check_shares(batch_size: int, num_micro: int, num_ranks: int = 1) -> None:
    """Raise unless every process has equal micro-batches: only then is the mean over them the batch's."""
    parts = num_micro * num_ranks
    each = f" on each of {num_ranks} processes" if num_ranks > 1 else ""
    require(
        batch_size % parts == 0,
        f"data.batch_size={batch_size} cannot be cut into train.accumulate={num_micro} equal micro-batches{each}; "
        f"make it a multiple of {parts}.",
    )


def micro_batches(batch: Batch, num: int) -> Iterator[tuple[float, Batch]]:
    """`num` equal shares of a batch, each with its share of the targets; padded as the whole is."""
    num_examples = len(batch.tokens_BL)
    assert num_examples % num == 0, "refused before training"
    size = num_examples // num
    for start in range(0, num_examples, size):
        rows = slice(start, start + size)
        mask_BL = None if batch.mask_BL is None else batch.mask_BL[rows]
        part = Batch(batch.tokens_BL[rows], mask_BL, batch.targets[rows])
        yield part.targets.numel() / batch.targets.numel(), part


def backward(passes: Passes, batch: Batch, scaled: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor | None]:
    """Add the batch's gradients to what is there; its mean loss, and the norms' mean penalty.

    `scaled` is applied to what goes backward: float16 needs a larger loss.
    """
    losses, penalties = [], []
    for share, part in micro_batches(batch, passes.num_micro):
        with passes.computing():
            logits = passes.forward(part.tokens_BL, part.mask_BL)
        loss, penalty = share * mean_loss(logits, part.targets), passes.penalty()
        if penalty is not None:
            penalty = share * penalty
            penalties.append(penalty.detach())
        scaled(loss if penalty is None else loss + penalty).backward()
        losses.append(loss.detach())
    return sum(losses[1:], losses[0]), sum(penalties[1:], penalties[0]) if penalties else None
