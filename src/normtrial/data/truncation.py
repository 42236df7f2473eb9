"""What is kept of a document that is longer than `max_len` tokens."""

import numpy as np

TRUNCATE = ("head", "tail", "both")


def cut(tokens: np.ndarray, max_len: int, how: str) -> np.ndarray:
    """At most `max_len` of the tokens; head: the first ones, tail: the last ones, both: half from each end.

    With `both` the first ⌈max_len / 2⌉ are followed directly by the last ⌊max_len / 2⌋, without a mark between.

    >>> [cut(np.arange(9), 5, how).tolist() for how in TRUNCATE]
    [[0, 1, 2, 3, 4], [4, 5, 6, 7, 8], [0, 1, 2, 7, 8]]
    """
    if len(tokens) <= max_len or how == "head":
        return tokens[:max_len]
    first = 0 if how == "tail" else -(-max_len // 2)
    return np.concatenate([tokens[:first], tokens[len(tokens) - (max_len - first) :]])
