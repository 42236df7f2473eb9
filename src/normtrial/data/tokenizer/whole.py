"""Vocabularies without pieces: characters, and words. What training has not seen is one [UNK].

`null` tokens are as many as the training split has; a number keeps the commonest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from normtrial.data.tokenizer.vocabulary import SPECIALS, UNK, Texts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ALL = 2**31 - 1
# A space belongs to the word behind it, as in GPT-2, so nothing is lost; a Han character is a word, as in BERT.
WORDS = r"\p{Han}| ?[[\p{L}\p{M}]&&[^\p{Han}]]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]|\s+(?!\S)|\s+"


def char(texts: Texts, size: int | None) -> Tokenizer:
    """A token a character (Unicode code point)."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel(unk_token=UNK))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return _count(tokenizer, texts, size)


def word(texts: Texts, size: int | None) -> Tokenizer:
    """A token a word, number, punctuation mark or Han character, with the space before it."""
    from tokenizers import Tokenizer, decoders, models

    tokenizer = in_words(Tokenizer(models.WordLevel(unk_token=UNK)))
    tokenizer.decoder = decoders.Sequence([decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return _count(tokenizer, texts, size)


def in_words(tokenizer: Tokenizer) -> Tokenizer:
    """Let it cut texts into words first; the first word gets a space too, so that it is the same everywhere."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    tokenizer.normalizer = normalizers.Prepend(" ")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(WORDS), "isolated")
    return tokenizer


def _count(tokenizer: Tokenizer, texts: Texts, size: int | None) -> Tokenizer:
    """Fill the vocabulary: by frequency, then by code point, so the same everywhere."""
    from tokenizers import trainers

    trainer = trainers.WordLevelTrainer(
        vocab_size=ALL if size is None else size,
        min_frequency=1,
        special_tokens=[*SPECIALS, UNK],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer
