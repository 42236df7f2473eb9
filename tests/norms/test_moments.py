"""Masked moments against loops over the values that count.

Shapes: B examples, L positions, D model width.
"""

import itertools

import pytest
import torch
from torch import Tensor

from normtrial.norms.moments import AXES, masked_mean, masked_moments
from tests.network.models import lengths_mask

SUBSETS = ["".join(axes) for n in (1, 2, 3) for axes in itertools.combinations(AXES, n)]
MASK_BL = lengths_mask([4, 1, 2], 4)
EVERY_SUBSET = pytest.mark.parametrize("axes", SUBSETS)


def values() -> Tensor:
    return torch.randn(3, 4, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def selected(x_BLD: Tensor, mask_BL: Tensor | None, axes: str, at: tuple[int, ...]) -> list[float]:
    """The values that a statistic at this place is taken over."""
    found = []
    for place in itertools.product(*map(range, x_BLD.shape)):
        same = all(axis in axes or place[d] == at[d] for d, axis in enumerate(AXES))
        if same and (mask_BL is None or mask_BL[place[:2]]):
            found.append(x_BLD[place].item())
    return found


@pytest.mark.parametrize("mask_BL", [MASK_BL, None], ids=["ragged", "full"])
@EVERY_SUBSET
def test_equal_loops(axes: str, mask_BL: Tensor | None) -> None:
    x_BLD = values()
    moments = masked_moments(x_BLD, mask_BL, axes)
    assert moments.mean.shape == tuple(1 if a in axes else n for a, n in zip(AXES, x_BLD.shape, strict=True))
    counts = moments.num.expand_as(moments.mean)
    for at in itertools.product(*map(range, moments.mean.shape)):
        counted = selected(x_BLD, mask_BL, axes, at)
        mean = sum(counted) / max(1, len(counted))
        variance = sum((v - mean) ** 2 for v in counted) / max(1, len(counted))
        assert counts[at] == len(counted)
        assert moments.mean[at].item() == pytest.approx(mean, abs=1e-12)
        assert moments.variance[at].item() == pytest.approx(variance, abs=1e-12)


@pytest.mark.parametrize("rubbish", [float("nan"), float("inf"), 1e300])
@EVERY_SUBSET
def test_rubbish_in_pads_is_never_read(axes: str, rubbish: float) -> None:
    """B25: forward and backward."""
    results = []
    for x_BLD in (values(), values().masked_fill(~MASK_BL[..., None], rubbish)):
        x_BLD.requires_grad_()
        mean, _ = masked_mean(x_BLD, MASK_BL, axes)
        variance = masked_moments(x_BLD, MASK_BL, axes).variance
        (gradient_BLD,) = torch.autograd.grad(mean.sum() + variance.sum(), x_BLD)
        results.append((mean.detach(), variance.detach(), gradient_BLD[MASK_BL]))
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize(("axes", "tolerance"), [("BL", 1e-4), ("LD", 1e-4), ("D", 1e-3), ("B", 1e-3)])
def test_variance_keeps_its_digits_far_from_zero(axes: str, tolerance: float) -> None:
    """B15: four digits over 512 values or more, three over the 16 or 64 of a token; E[x²] − E[x]² keeps none."""
    x = 3000 + 0.05 * torch.randn(16, 32, 64, generator=torch.Generator().manual_seed(0))
    given, exact = (masked_moments(value, None, axes).variance for value in (x, x.double()))
    assert ((given - exact).abs() / exact).max() < tolerance
