"""Where the random generators of Python, NumPy and torch stand: part of every checkpoint.

Nothing of ours depends on it, for a step sets torch's generator anew by its number and data have generators of
their own; a norm of yours that draws from another one is resumed exactly all the same.
"""

import random
from typing import Any

import numpy as np
import torch


def random_state() -> dict[str, Any]:
    """Plain values and a tensor, as `torch.load(weights_only=True)` reads them."""
    version, words, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, cached],
        "torch": torch.get_rng_state(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Put all three generators back."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, position, has_gauss, cached = state["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    torch.set_rng_state(state["torch"])
