"""A norm timed by pairs: against copying, and against what torch has in its place.

Shapes: B examples, L positions, D model width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from normtrial.benchmark.norms.floor import least_traffic
from normtrial.benchmark.norms.peers import PEERS, Case, Work
from normtrial.benchmark.pairs import Clock, Comparison, ratios_of_short
from normtrial.config.shipped import shipped
from normtrial.norms.base import Norm
from normtrial.norms.catalogue import build_norm, norm_class

Shape = tuple[int, int, int]
PASSES = ("forward", "both")


@dataclass(frozen=True, slots=True)
class Row:
    """One norm, one way of calling it.

    Attributes:
        norm: its name, and whether the input was padded.
        passes: "forward" or "both", forward and backward.
        seconds: of one call.
        floor: its time over that of moving what must be moved; None where nothing must.
        peers: its time over torch's, by the names of what torch has; those that compute the same come first.
    """

    norm: str
    passes: str
    seconds: float
    floor: Comparison | None
    peers: list[Comparison]

    def __str__(self) -> str:
        """As a line to be read while the rest is measured."""
        told = [f"{one.median:.2f} x {one.name}" for one in [*([self.floor] if self.floor else []), *self.peers]]
        return f"{self.norm}, {self.passes}: {self.seconds * 1e3:.2f} ms, {', '.join(told)}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values with every ratio."""
        return {
            "norm": self.norm,
            "passes": self.passes,
            "seconds": self.seconds,
            "over_floor": self.floor and {"median": self.floor.median, "ratios": self.floor.ratios},
            "over_torch": {one.name: {"median": one.median, "ratios": one.ratios} for one in self.peers},
        }


def cases_of(name: str) -> tuple[bool, ...]:
    """Whether to pad: once without, and where the norm heeds the mask once with padding."""
    config = shipped(name)
    cls = norm_class(config)
    mixes = cls.mixes_examples(config) or cls.mixes_positions(config)
    return (False, True) if mixes and not cls.sees_padding(config) else (False,)


def measure(name: str, shape: Shape, padded: bool, num_pairs: int, clock: Clock) -> list[Row]:
    """Forward, and both passes."""
    case = make_case(shape, padded)
    norm = build_norm(shape[2], shipped(name), shape[1]).train()
    work, others = work_of(norm, case), {peer.title: peer.work(case) for peer in PEERS[name]}
    copy = torch.empty_like(case.x_BLD)
    valid = 1.0 if case.mask_BL is None else float(case.mask_BL.float().mean())

    def copying() -> None:
        copy.copy_(case.x_BLD)

    rows = []
    for passes in PASSES:
        call: Callable[[], Any] = getattr(work, passes)
        ratios, seconds = ratios_of_short(copying, call, num_pairs, clock)
        tensors = least_traffic(norm, valid)[passes]
        # a copy moves two tensors
        floor = Comparison("the floor", [2 * ratio / tensors for ratio in ratios]) if tensors else None
        compared = [
            Comparison(title, ratios_of_short(getattr(other, passes), call, num_pairs, clock)[0])
            for title, other in others.items()
        ]
        rows.append(Row(f"{name}, padded" if padded else name, passes, seconds, floor, compared))
    return rows


def make_case(shape: Shape, padded: bool) -> Case:
    """Normal values; in a padded one lengths spread evenly from a quarter of L to L."""
    num, length, _ = shape
    lengths = torch.linspace(length / 4, length, num).round()
    mask_BL = torch.arange(length) < lengths[:, None] if padded else None
    x_BLD, dy_BLD, cond_BLD = torch.randn(3, *shape).unbind(0)
    return Case(x_BLD.contiguous(), dy_BLD.contiguous(), cond_BLD.contiguous(), mask_BL)


def work_of(norm: Norm, case: Case) -> Work:
    """Our side: a norm of the catalogue, differentiated by input, parameters and, where it has one, condition."""
    x, cond = case.x_BLD.detach().clone().requires_grad_(), case.cond_BLD.detach().clone().requires_grad_()
    needs_condition = hasattr(norm, "modulation")
    leaves = [x, *norm.parameters(), *([cond] if needs_condition else [])]
    return Work(lambda: norm(x, case.mask_BL, cond), leaves, case.dy_BLD)
