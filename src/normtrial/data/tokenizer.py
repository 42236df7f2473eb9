"""Byte-level BPE, trained on the training split only: lossless, without unknown tokens, for any script.

The only kind so far, also for what it is not: the WordPiece and Unigram trainers of `tokenizers` 0.23 give another
vocabulary in every process, on one thread too, so a prepared text would not be the same on two machines.

The `tokenizers` library is imported inside functions: a second start reads prepared arrays and needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPECIALS = ("[PAD]", "[EOS]")  # bytes can spell everything, so there is no [UNK]
PAD, EOS = range(len(SPECIALS))
MIN_VOCAB = len(SPECIALS) + 256  # every byte is a token of its own


def train(texts: Iterable[str], vocab_size: int) -> Tokenizer:
    """A tokenizer of at most `vocab_size` tokens; fewer where the texts have no more pairs to merge."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # A text that spells "[EOS]" means these five characters, not the end of the document.
    tokenizer.encode_special_tokens = True
    return tokenizer


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    """The token ids of each text."""
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
