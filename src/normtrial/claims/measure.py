"""`claim.py run` of exact and cost claims: call the named function, keep what it returns."""

import platform
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

from normtrial.claims import cost, exact
from normtrial.claims.claim.model import MeasuredClaim
from normtrial.claims.judging import measured
from normtrial.errors import not_one_of

FUNCTIONS: dict[str, dict[str, Callable]] = {"exact": exact.MEASURES, "cost": cost.MEASURES}


def measure(claims: Iterable[MeasuredClaim], folder: Path) -> None:
    """Measure each claim and keep its numbers."""
    found: measured.Measured = {}
    about: dict[str, str] = {}
    for claim in claims:
        found[claim.id] = measured_parts(claim)
        about[claim.id] = where(claim.kind)
        print(f"{claim.id} measured", flush=True)
    measured.write(folder, found, about)


def measured_parts(claim: MeasuredClaim) -> dict[str, list[float]]:
    """The numbers of a claim by part, in lists; a fixed random state.

    Raises:
        ConfigError: no such function, or other parts than those claimed.
    """
    functions = FUNCTIONS[claim.kind]
    if claim.measure not in functions:
        raise not_one_of(f"{claim.id}: measure", claim.measure, functions)
    torch.manual_seed(0)
    parts = functions[claim.measure]()
    for name in claim.parts:
        if name not in parts:
            raise not_one_of(f"{claim.id}: part", name, parts)
    return {name: list(map(float, v)) if isinstance(v, list) else [float(v)] for name, v in parts.items()}


def where(kind: str) -> str:
    """On what it was measured: that decides times, and hardly anything else."""
    if kind == "exact":
        return f"torch {torch.__version__.split('+')[0]}"
    return f"torch {torch.__version__}, {platform.machine()}, {torch.get_num_threads()} thread"
