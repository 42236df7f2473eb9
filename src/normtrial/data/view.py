"""How a split is shown in evaluation: the plain way, or with one thing changed. Training sees the plain one."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normtrial.data.words import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is changed; None and False change nothing."""

    words: Words | None = None
    max_len: int | None = None  # tokens an example, in the place of data.max_len
    batch_size: int | None = None  # examples, in the place of data.batch_size
    one_class: bool = False  # every batch holds examples of one class only


PLAIN = View()


def in_order(size: int, batch_size: int) -> Iterator[np.ndarray]:
    """Example numbers batch by batch; the last batch may be smaller.

    >>> [batch.tolist() for batch in in_order(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    for start in range(0, size, batch_size):
        yield np.arange(start, min(start + batch_size, size))


def by_class(labels: np.ndarray, batch_size: int) -> Iterator[np.ndarray]:
    """The same, class after class: no batch holds two, and the last one of each class may be smaller.

    >>> [batch.tolist() for batch in by_class(np.array([1, 0, 1, 1]), 2)]
    [[1], [0, 2], [3]]
    """
    for label in np.unique(labels):
        examples = np.flatnonzero(labels == label)
        for batch in in_order(len(examples), batch_size):
            yield examples[batch]


def by_length(lengths: np.ndarray, num_buckets: int) -> list[np.ndarray]:
    """Example numbers in buckets of equal size, give or take one, the shortest examples first.

    >>> [bucket.tolist() for bucket in by_length(np.array([9, 2, 5, 2]), 2)]
    [[1, 3], [2, 0]]
    """
    return np.array_split(np.argsort(lengths, kind="stable"), num_buckets)
