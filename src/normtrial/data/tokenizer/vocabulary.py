"""A tokenizer with the ids of the tokens that are no text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Texts = Callable[[], Iterator[str]]  # may be called again: some kinds read the texts twice

SPECIALS = ("[PAD]", "[EOS]")  # all that bytes need, since they can spell everything
UNK = "[UNK]"
UNKNOWN = "\ufdd0"  # no character and never will be one, so in no vocabulary
PAD, EOS = range(len(SPECIALS))  # of the kinds that we train, apart from unigram
# What other people's files call the two; the first found is taken.
PAD_NAMES = ("[PAD]", "<pad>", "<PAD>", "<|pad|>", "<|padding|>")
EOS_NAMES = ("[EOS]", "</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>", "<|eos|>", "[SEP]")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What tokenizes, and three ids; `unk` is None where every text can be spelled."""

    tokenizer: Tokenizer
    pad: int
    eos: int
    unk: int | None

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> Vocabulary:
        """Find the three; a padding or end-of-text token that is missing is added behind the others."""
        pad, eos = (_special(tokenizer, names) for names in (PAD_NAMES, EOS_NAMES))
        # A text that spells "[EOS]" means these five characters, not the end of the document.
        tokenizer.encode_special_tokens = True
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, pad, eos, _unknown(tokenizer))

    @property
    def size(self) -> int:
        """Rows of an embedding: the largest id and one, since ids of a given file may have gaps."""
        return max(self.tokenizer.get_vocab().values()) + 1

    def decode(self, documents: list[list[int]]) -> list[str]:
        """The text of each document; what the vocabulary does not know comes back as what it does not know."""
        decoder = self.tokenizer.decoder
        if self.unk is None or decoder is None:
            return self.tokenizer.decode_batch(documents)
        return [decoder.decode([self._piece(token) for token in document]) for document in documents]

    def _piece(self, token: int) -> str:
        if token == self.unk:
            return UNKNOWN
        return "" if token in (self.pad, self.eos) else self.tokenizer.id_to_token(token) or ""

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The token ids of each text."""
        encoded = self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encoded]


def _special(tokenizer: Tokenizer, names: tuple[str, ...]) -> int:
    known = tokenizer.get_vocab()
    for name in names:
        if name in known:
            return known[name]
    tokenizer.add_special_tokens([names[0]])
    return tokenizer.get_vocab()[names[0]]


def _unknown(tokenizer: Tokenizer) -> int | None:
    """The id that the model gives to what it cannot spell."""
    model = json.loads(tokenizer.to_str())["model"]
    if model["type"] == "Unigram":
        return model["unk_id"]
    name = model.get("unk_token")
    return None if name is None else tokenizer.token_to_id(name)
