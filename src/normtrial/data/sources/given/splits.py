"""Which file or published split serves as train, val and test; what is missing is cut from train."""

import re

from normtrial.data.sources.source import split_by_hash, validation_by_hash

WORDS = {
    "train": ("train", "training"),
    "val": ("validation", "valid", "val", "dev"),
    "test": ("test", "testing"),
}


def role_of(name: str) -> str | None:
    """The split that a name speaks of.

    >>> [role_of(name) for name in ("train.csv", "imdb_dev-2.txt", "validation_matched", "testimony", "a.csv")]
    ['train', 'val', 'val', None, None]
    """
    words = re.split(r"[^a-z]+", name.lower())
    return next((role for role, known in WORDS.items() if set(known) & set(words)), None)


def cut(text: str, missing: set[str]) -> str:
    """The split of a training text where `missing` ones are cut from it: test a fifth, val a tenth, by hash.

    >>> lines = [str(number) for number in range(1000)]
    >>> sorted({cut(line, {"test"}) for line in lines}), sum(cut(line, {"val"}) == "val" for line in lines)
    (['test', 'train'], 107)
    """
    if missing == {"val"}:
        return validation_by_hash(text)
    part = split_by_hash(text)
    return part if part in missing else "train"
