"""WordPiece (Schuster & Nakajima 2012; BERT): a word by its longest known beginning, then `##` pieces.

Unlike BERT's, it keeps case and white space, so that losses of language models compare with other vocabularies.

The library's own trainer gives other ids, and in consequence other merges, in every process: it numbers the pieces
of one character in the order of a hash map. So we train twice. The first pass merges nothing and only finds
these pieces; the second is given them, sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from normtrial.data.tokenizer.alphabet import SHARE, rare
from normtrial.data.tokenizer.vocabulary import SPECIALS, UNK, Texts
from normtrial.data.tokenizer.whole import in_words

if TYPE_CHECKING:
    from tokenizers import Tokenizer

INSIDE = "##"  # before a piece that doesn't begin a word


def wordpiece(texts: Texts, size: int | None) -> Tokenizer:
    """Pieces by merging frequent pairs, as the library itself does; a word with a rare character is [UNK]."""
    from tokenizers import Regex, Tokenizer, decoders, models

    assert size is not None
    single = sorted(_merge(texts(), [], 0))
    forms = {piece[-1]: 0 for piece in single}
    for piece in single:
        forms[piece[-1]] += 1  # a character may begin a word, stand inside one, or both
    too_rare = rare(texts, int(SHARE * size), cost=lambda char: forms.get(char, 0))
    kept = [piece for piece in single if ord(piece[-1]) not in too_rare]
    common = (text.translate(too_rare) if too_rare else text for text in texts())
    vocabulary = _merge(common, [*SPECIALS, UNK, *kept], size)
    tokenizer = in_words(Tokenizer(models.WordPiece(vocabulary, unk_token=UNK, continuing_subword_prefix=INSIDE)))
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace(Regex(f"^{INSIDE}"), ""), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([*SPECIALS, UNK])
    return tokenizer


def _merge(texts: Iterable[str], first: list[str], size: int) -> dict[str, int]:
    """Ids by piece: `first`, then characters, then merged pairs up to `size` in all."""
    from tokenizers import Tokenizer, models, trainers

    trained = in_words(Tokenizer(models.BPE(continuing_subword_prefix=INSIDE)))
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=first, continuing_subword_prefix=INSIDE, show_progress=False
    )
    trained.train_from_iterator(texts, trainer)
    return trained.get_vocab()
