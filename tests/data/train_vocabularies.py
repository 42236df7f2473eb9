"""A process that trains vocabularies and prints a hash of each, for `test_vocabularies.py`:

python -m tests.data.train_vocabularies CACHE SOURCE DOCUMENTS SIZE KIND …
"""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, models, trainers

from normtrial.data.catalogue import SOURCES
from normtrial.data.select import clean
from normtrial.data.tokenizer.catalogue import make
from normtrial.data.tokenizer.vocabulary import SPECIALS, UNK, Texts
from normtrial.data.tokenizer.whole import in_words


def librarys_own(texts: Texts, size: int) -> Tokenizer:
    """WordPiece by the trainer of `tokenizers`: the reason for ours."""
    tokenizer = in_words(Tokenizer(models.WordPiece(unk_token=UNK)))
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=[*SPECIALS, UNK], show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    return tokenizer


def main(cache: str, source: str, documents: str, size: str, *kinds: str) -> None:
    """A line a kind: its name, a hash of the saved tokenizer and of the ids of the texts."""
    rows = SOURCES[source].documents(Path(cache))
    kept = [clean(row.text) for row in rows if row.split == "train"][: int(documents)]

    def texts() -> Iterator[str]:
        return iter(kept)

    for kind in kinds:
        if kind == "library":
            tokenizer = librarys_own(texts, int(size))
        else:
            tokenizer = make(kind, None if kind == "byte" else int(size), texts).tokenizer
        ids = [encoding.ids for encoding in tokenizer.encode_batch(kept, add_special_tokens=False)]
        vocabulary = sorted(tokenizer.get_vocab().items())
        print(kind, hashlib.sha256(repr((vocabulary, ids)).encode()).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
