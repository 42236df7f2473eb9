"""Labels as classes: none that training never sees, not as many as there are documents, in their natural order."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from normtrial.data.sources.source import Document
from normtrial.errors import ConfigError

MIN_DOCUMENTS = 2  # a class, on average: with fewer, the column is an identifier, a text or a measured value


def learnable(documents: Iterable[Document], column: str) -> Iterator[Document]:
    """The documents, marked as dropped where nothing in training has their label; train must come first."""
    seen: Counter[str] = Counter()
    waiting: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        if document.dropped or (document.label in seen and document.split != "train"):
            yield document
        elif document.split == "train":
            seen[document.label] += 1
            yield document
            yield from waiting.pop(document.label, ())
        else:
            waiting[document.label].append(document)
    for left in waiting.values():
        yield from (Document("", document.split, dropped="label_not_in_train") for document in left)
    if len(seen) > 2 and seen.total() < MIN_DOCUMENTS * len(seen):
        examples = ", ".join(repr(label[:20]) for label in list(seen)[:3])
        raise ConfigError(
            f"data.label={column!r} has {len(seen):,} different values in {seen.total():,} training documents "
            f"({examples}, …): these are no classes. Choose another column."
        )


def ordered(labels: Iterable[str]) -> list[str]:
    """By value where all are numbers, by the alphabet otherwise.

    >>> ordered(["10", "9", "4.5", "-1"]), ordered(["10", "9", "best"])
    (['-1', '4.5', '9', '10'], ['10', '9', 'best'])
    """
    names = sorted(labels)
    try:
        return sorted(names, key=float)
    except ValueError:
        return names
