"""Combinations of norm and number format that will work, but hardly as meant: said, not refused."""

import warnings

import torch

from normtrial.config.schema import Config
from normtrial.norms.catalogue import norm_class


def warn_of_lost_eps(config: Config) -> None:
    """Warn where eps is below what the norm's arithmetic holds to full precision: it is rounded, at worst to 0."""
    eps, dtype = getattr(config.norm, "eps", None), arithmetic_dtype(config)
    if eps is None or eps >= torch.finfo(dtype).tiny:
        return
    name = str(dtype).removeprefix("torch.")
    rounded = float(torch.tensor(eps, dtype=dtype))
    then = "a constant token divides 0 by 0" if rounded == 0 else "it has lost digits"
    warnings.warn(
        f"norm.eps={eps:g} is {rounded:.4g} in {name}, in which norm={config.norm.name} computes with "
        f"precision={config.precision.compute}: {then}. {name} holds numbers in full from "
        f"{torch.finfo(dtype).tiny:.2g} on; raise norm.eps, or take the statistics in float32.",
        stacklevel=2,
    )


def arithmetic_dtype(config: Config) -> torch.dtype:
    """In which precision the norm adds eps."""
    compute = config.precision.format.compute
    in_it = norm_class(config.norm).half_arithmetic or getattr(config.norm, "stats_dtype", None) == "input"
    return compute if in_it else torch.promote_types(compute, torch.float32)
