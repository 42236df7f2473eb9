"""What is kept of a document that is longer than `max_len` tokens.

Shapes: B documents, L positions.
"""

import numpy as np

TRUNCATE = ("head", "tail", "both")


def kept(starts_B: np.ndarray, ends_B: np.ndarray, max_len: int, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the kept tokens of each document stand, (B, L) of which its length (B,) are meant, and that length.

    head: the first `max_len`, tail: the last, both: the first ⌈max_len / 2⌉ followed directly by the last
    ⌊max_len / 2⌋, without a mark between. A document of at most `max_len` tokens is kept whole.

    >>> for how in TRUNCATE:
    ...     print(kept(np.array([10, 20]), np.array([19, 22]), 5, how)[0].tolist())
    [[10, 11, 12, 13, 14], [20, 21, 22, 23, 24]]
    [[14, 15, 16, 17, 18], [20, 21, 22, 23, 24]]
    [[10, 11, 12, 17, 18], [20, 21, 22, 23, 24]]
    """
    lengths_B = np.minimum(ends_B - starts_B, max_len)
    columns = np.arange(lengths_B.max())
    from_start_B = {"head": lengths_B, "tail": 0 * lengths_B, "both": (lengths_B + 1) // 2}[how]
    backs_BL = (ends_B - lengths_B)[:, None] + columns
    return np.where(columns < from_start_B[:, None], starts_B[:, None] + columns, backs_BL), lengths_B
