"""The unigram model of SentencePiece (Kudo 2018, 1804.10959): the likeliest way to cut a text into pieces.

Trained by the `sentencepiece` library on one thread, since the trainer of `tokenizers` 0.23 gives another
vocabulary in every process; read by `tokenizers` like the other kinds. Text is taken as it is, without the usual
normalization of SentencePiece: a space is the sign ▁ before a word, and a line end is a token.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from normtrial.data.tokenizer.alphabet import SHARE, rare
from normtrial.data.tokenizer.vocabulary import SPECIALS, Texts
from normtrial.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_LINE_BYTES = 10**8  # longer lines would be skipped without a word; the library's own limit is 4,192
ERRORS_ONLY = 2  # the library's least talkative level
UNKNOWN = "\0"  # a text could spell "[UNK]", which would be a piece like others; NUL is cleaned from all texts


def unigram(texts: Texts, size: int | None) -> Tokenizer:
    """Pieces and their log probabilities; fewer than `size` where the texts have no more."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    assert size is not None
    size -= len(SPECIALS)  # which are added behind, for the same reason
    too_rare = rare(texts, int(SHARE * size))
    lines = (line for text in texts() for line in text.translate(too_rare).split("\n") if line)
    tokenizer = Tokenizer(models.Unigram(_train(lines, size), unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    return tokenizer


def _train(lines: Iterator[str], size: int) -> list[tuple[str, float]]:
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(  # type: ignore[attr-defined]
            sentence_iterator=lines,
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,
            num_threads=1,  # sums of several threads would differ in their last digits
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            character_coverage=1.0,  # rare characters are gone already
            max_sentence_length=MAX_LINE_BYTES,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            user_defined_symbols=["\n"],
            minloglevel=ERRORS_ONLY,
        )
    except RuntimeError as error:
        raise ConfigError(
            f"data.tokenizer=unigram with data.vocab_size={size}: sentencepiece cannot train it ({error})."
        ) from error
    pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())  # type: ignore[call-arg]
    known = [(pieces.id_to_piece(i), pieces.get_score(i)) for i in range(1, pieces.get_piece_size())]
    return [(UNKNOWN, 0.0), *known]
