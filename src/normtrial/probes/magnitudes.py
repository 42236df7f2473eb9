"""What a tensor's values are like, in plain numbers: for events, and for the table of a replay."""

from typing import Any

import torch
from torch import Tensor


def is_finite(tensor: Tensor) -> bool:
    """No NaN and no infinity anywhere."""
    return bool(torch.isfinite(tensor).all())


def short_dtype(dtype: torch.dtype) -> str:
    """`float16` for `torch.float16`."""
    return str(dtype).removeprefix("torch.")


def magnitudes(tensor: Tensor) -> dict[str, Any]:
    """Dtype, how many values are not finite; and of the others least, greatest, mean, biased variance, max |x|.

    None where no value is finite. In float64, so that a variance of float16 values does not overflow.

    >>> magnitudes(torch.tensor([1.0, -3.0, float("nan")]))["max_abs"]
    3.0
    """
    tensor = tensor.detach()
    finite = tensor[torch.isfinite(tensor)].double()
    found: dict[str, Any] = {
        "dtype": short_dtype(tensor.dtype),
        "num_nan": int(torch.isnan(tensor).sum()),
        "num_inf": int(torch.isinf(tensor).sum()),
    }
    if not len(finite):
        return found | dict.fromkeys(("min", "max", "mean", "variance", "max_abs"))
    variance, mean = torch.var_mean(finite, correction=0)
    values = {"min": finite.min(), "max": finite.max(), "mean": mean, "variance": variance}
    return found | {name: float(v) for name, v in values.items()} | {"max_abs": float(finite.abs().max())}
