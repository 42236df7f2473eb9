"""Texts whose words are shuffled or dropped, in evaluation only: decoded, changed, tokenized again.

What is a word does not depend on the tokenizer, so arms with different vocabularies read the same changed text.
A tokenizer that forgets something of a text (case, say) gives it back as it remembers it.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from normtrial.data.tokenizer.vocabulary import Vocabulary

# A Han or kana character by itself, since these scripts write no spaces; else what stands between white space.
_UNSPACED = "\u2e80-\u2eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(f"[{_UNSPACED}]|[^\\s{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Words:
    """A change of the words of every document.

    Attributes:
        kind: shuffle or drop.
        share: of a document's n words; k = ⌊share · n + 1/2⌋ of them are concerned.
        seed: with the document's number in its split it fixes which. Those of a smaller share are among those of
            a larger one.
    """

    kind: str
    share: float
    seed: int

    def changed(self, text: str, document: int) -> str:
        """The text with its words shuffled or dropped."""
        change = {"shuffle": shuffled, "drop": dropped}[self.kind]
        return change(text, self.share, np.random.default_rng([self.seed, document]))


@dataclass(slots=True)
class Reworded:
    """A changed split: its arrays as in `data.arrays`, and tokens by unit of text."""

    arrays: dict[str, np.ndarray]
    tokens_per: dict[str, float]


def shuffled(text: str, share: float, rng: np.random.Generator) -> str:
    """k of the n words moved round in a cycle, in random order; white space stays where it is.

    Positions p₁ … p_k are drawn without replacement; the word at p_i goes to p_{i+1}, that at p_k to p₁. So each
    of the k moves (a single one, k = 1, cannot).

    >>> shuffled("the cat sat  on the mat", 0.5, np.random.default_rng(0))
    'the cat on  mat the sat'
    """
    spans = [match.span() for match in WORD.finditer(text)]
    moved = _chosen(len(spans), share, rng)
    words = [text[start:end] for start, end in spans]
    for source, target in zip(moved, np.roll(moved, -1), strict=True):
        words[target] = text[slice(*spans[source])]
    return "".join(f"{gap}{word}" for gap, word in zip(_gaps(text, spans), [*words, ""], strict=True))


def dropped(text: str, share: float, rng: np.random.Generator) -> str:
    """k of the n words left out, each with the white space before it; at least one word stays.

    >>> dropped("the cat sat  on the mat", 0.5, np.random.default_rng(0))
    'the cat the'
    """
    spans = [match.span() for match in WORD.finditer(text)]
    gone = set(_chosen(len(spans), share, rng)[: max(0, len(spans) - 1)].tolist())
    gaps = _gaps(text, spans)
    kept = [at for at in range(len(spans)) if at not in gone]
    words = [(gaps[0 if at == kept[0] else at], text[slice(*spans[at])]) for at in kept]
    return "".join(f"{gap}{word}" for gap, word in [*words, (gaps[-1] if spans else text, "")])


def reworded(arrays: dict[str, np.ndarray], num_documents: int, words: Words, tokenizer_file: Path) -> Reworded:
    """The first documents of a split with changed words. One that ended with [EOS] ends with it again."""
    from tokenizers import Tokenizer

    vocabulary = Vocabulary.of(Tokenizer.from_file(str(tokenizer_file)))
    offsets, tokens = arrays["offsets"][: num_documents + 1], arrays["tokens"]
    documents = [tokens[start:end] for start, end in pairwise(offsets.tolist())]
    texts = vocabulary.decode([document.tolist() for document in documents])
    texts = [words.changed(text, number) for number, text in enumerate(texts)]
    found = [
        [*ids, vocabulary.eos] if document.size and document[-1] == vocabulary.eos else ids
        for ids, document in zip(vocabulary.encode(texts), documents, strict=True)
    ]
    changed = {
        "tokens": np.fromiter((token for ids in found for token in ids), tokens.dtype),
        "offsets": np.cumsum([0, *map(len, found)], dtype=np.int64),
        "labels": arrays["labels"][:num_documents],
    }
    units = {"chars": sum(map(len, texts)), "bytes": sum(len(text.encode()) for text in texts)}
    return Reworded(changed, {unit: changed["tokens"].size / max(1, size) for unit, size in units.items()})


def _chosen(num_words: int, share: float, rng: np.random.Generator) -> np.ndarray:
    return rng.permutation(num_words)[: int(share * num_words + 0.5)]


def _gaps(text: str, spans: list[tuple[int, int]]) -> list[str]:
    """What stands before each word, and behind the last."""
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    return [text[end:start] for end, start in zip([0, *ends], [*starts, len(text)], strict=True)]
