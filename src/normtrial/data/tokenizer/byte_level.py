"""Vocabularies over UTF-8 bytes: lossless, without unknown tokens, for any script."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from normtrial.data.tokenizer.vocabulary import SPECIALS, Texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NUM_BYTES = len(SPECIALS) + 256  # every byte is a token of its own


def bpe(texts: Texts, size: int | None) -> Tokenizer:
    """Byte-pair encoding (Sennrich et al. 2016, 1508.07909) over bytes, as in GPT-2; fewer tokens than `size`
    where the texts have no more pairs to merge.
    """
    assert size is not None
    return _train(texts(), size)


def byte(texts: Texts, size: int | None) -> Tokenizer:
    """Bytes alone: the encoding that has merged nothing."""
    return _train([], NUM_BYTES)


def _train(texts: Iterable[str], size: int) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
