"""Every kind of vocabulary by name, and files that hold one: what `data.tokenizer` and `data.vocab_size` mean.

Needs neither torch nor `tokenizers` until `make` is called.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from normtrial.data.tokenizer import byte_level, unigram, whole, wordpiece
from normtrial.data.tokenizer.vocabulary import SPECIALS, Texts, Vocabulary
from normtrial.errors import ConfigError, not_one_of, require

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How a vocabulary is trained, and which `data.vocab_size` it takes."""

    train: Callable[[Texts, int | None], Tokenizer]
    smallest: int | None  # tokens; None where the kind has one size only
    why: str = ""  # what the smallest holds
    can_hold_all: bool = False  # null is as many tokens as the training split has
    library: str = "tokenizers"  # whose version decides what is trained


_WITH_UNK = len(SPECIALS) + 1
KINDS: dict[str, Kind] = {
    "bpe": Kind(train=byte_level.bpe, smallest=byte_level.NUM_BYTES, why="256 bytes and the special tokens"),
    "byte": Kind(train=byte_level.byte, smallest=None),
    "char": Kind(
        train=whole.char, smallest=_WITH_UNK + 1, why="the special tokens and a character", can_hold_all=True
    ),
    "word": Kind(train=whole.word, smallest=_WITH_UNK + 1, why="the special tokens and a word", can_hold_all=True),
    "wordpiece": Kind(train=wordpiece.wordpiece, smallest=64, why="an alphabet and some pieces"),
    "unigram": Kind(
        train=unigram.unigram, smallest=64, why="an alphabet and some pieces", library="sentencepiece"
    ),
}


def is_file(tokenizer: str) -> bool:
    """Whether `data.tokenizer` is meant as the path of a `tokenizer.json`.

    >>> [is_file(name) for name in ("bpe", "bpee", "tokenizer.json", "gpt2/tokenizer")]
    [False, False, True, True]
    """
    return "/" in tokenizer or tokenizer.endswith(".json")


def check(tokenizer: str, vocab_size: int | None) -> None:
    """Raise `ConfigError` for an unknown kind, a missing file, or a size that doesn't go with it."""
    given = is_file(tokenizer)
    if given:
        require(Path(tokenizer).is_file(), f"data.tokenizer={tokenizer} is not there: no such file.")
    elif tokenizer not in KINDS:
        raise not_one_of("data.tokenizer", tokenizer, KINDS, " (and is no path of a tokenizer.json)")
    kind = None if given else KINDS[tokenizer]
    if kind is None or kind.smallest is None:
        require(
            vocab_size is None,
            f"data.vocab_size={vocab_size} has no meaning here: data.tokenizer={tokenizer} has as many tokens as "
            "it has. Set data.vocab_size=null.",
        )
    elif vocab_size is None:
        require(
            kind.can_hold_all,
            f"data.vocab_size=null: data.tokenizer={tokenizer} needs a number of tokens, such as 2048.",
        )
    else:
        require(
            vocab_size >= kind.smallest,
            f"data.vocab_size must be at least {kind.smallest} ({kind.why}) for data.tokenizer={tokenizer}, "
            f"not {vocab_size}.",
        )


def identity(tokenizer: str) -> str:
    """The kind's name; for a file its content, wherever it lies."""
    if not is_file(tokenizer):
        return tokenizer
    return f"sha256:{hashlib.sha256(Path(tokenizer).read_bytes()).hexdigest()}"


def versions(tokenizer: str) -> list[str]:
    """The libraries that decide which ids a text gets."""
    libraries = {"tokenizers"} if is_file(tokenizer) else {"tokenizers", KINDS[tokenizer].library}
    return [f"{name} {metadata.version(name)}" for name in sorted(libraries)]


def make(tokenizer: str, vocab_size: int | None, texts: Texts) -> Vocabulary:
    """The vocabulary: read from its file, or trained on the texts."""
    if is_file(tokenizer):
        return Vocabulary.of(_read(tokenizer))
    return Vocabulary.of(KINDS[tokenizer].train(texts, vocab_size))


def _read(path: str) -> Tokenizer:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(path)
    except Exception as error:  # the library raises nothing more particular
        raise ConfigError(
            f"data.tokenizer={path} is no tokenizer.json of the tokenizers library: {error}"
        ) from error
