"""Which of two marker words comes first? No bag of words can tell, so a model must use positions.

A document is a line of filler words, drawn with Zipf's frequencies, in which `alpha` and `omega` stand once each;
the label is the first of them. Documents come in pairs that differ in nothing but the order of the two markers,
both in one split: what looks at counts of words only says the same of both, and is right on exactly half.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from normtrial.data.sources.source import Document, split_by_index
from normtrial.data.sources.synthetic import Synthetic

MARKERS = ("alpha", "omega")
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
MAX_FILLERS = len(SYLLABLES) ** 2


def filler(index: int) -> str:
    """The i-th filler word: two syllables, so never a marker.

    >>> filler(0), filler(71)
    ('baba', 'bebe')
    """
    first, second = divmod(index, len(SYLLABLES))
    return SYLLABLES[first] + SYLLABLES[second]


@dataclass(frozen=True, kw_only=True)
class Order(Synthetic):
    """Pairs of lines of words."""

    name: str = "order"
    kind: str = "classification"
    min_words: int  # a document, markers included
    max_words: int
    num_fillers: int  # different filler words

    def _draw(self, rng: random.Random) -> Iterator[Document]:
        fillers = [filler(index) for index in range(self.num_fillers)]
        frequencies = list(accumulate(1 / rank for rank in range(1, self.num_fillers + 1)))
        for pair in range(self.num_documents // 2):
            words = rng.choices(fillers, cum_weights=frequencies, k=rng.randint(self.min_words, self.max_words))
            places = sorted(rng.sample(range(len(words)), 2))
            for markers in (MARKERS, MARKERS[::-1]):
                for place, marker in zip(places, markers, strict=True):
                    words[place] = marker
                yield Document(" ".join(words), split_by_index(pair), markers[0])
