"""Which characters a vocabulary has room for: Chinese has more than a small one can hold."""

from collections import Counter
from collections.abc import Callable

from normtrial.data.tokenizer.vocabulary import Texts

SHARE = 0.75  # of a vocabulary goes to single characters at most; the rest is for longer pieces


def rare(texts: Texts, room: int, cost: Callable[[str], int] = lambda char: 1) -> dict[int, str]:
    """For `str.translate`: a line end in place of each character beyond the commonest that `room` tokens can hold.

    No piece goes over a line's end, so none has a rare character in it.

    >>> "abacad".translate(rare(lambda: iter(["aaabbc", "d"]), room=2))
    'aba\\na\\n'
    """
    counts: Counter[str] = Counter()
    for text in texts():
        counts.update(text)
    used, found = 0, {}
    for char in sorted(counts, key=lambda char: (-counts[char], char)):
        used += cost(char)
        if used > room and char != "\n":
            found[ord(char)] = "\n"
    return found
