"""Random inputs for a norm, the norm's own result on them, and the reference's.

Shapes: B examples, L positions, D model width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from normtrial.norms.base import Norm
from tests.norms.reference import Case, expected


@dataclass
class Draw:
    """An input, its mask, the condition, and the gradient that arrives from above (0 at pads)."""

    x_BLD: Tensor
    mask_BL: Tensor | None
    cond_BLD: Tensor
    upstream_BLD: Tensor

    @property
    def valid_BL(self) -> Tensor:
        """The mask, written out."""
        return torch.ones(self.x_BLD.shape[:2], dtype=torch.bool) if self.mask_BL is None else self.mask_BL


def ragged(B: int, L: int, generator: torch.Generator) -> Tensor:
    """Each example has its own number of leading valid tokens; one is full, and one is cut short."""
    lengths = torch.randint(1, L + 1, (B,), generator=generator)
    lengths[0], lengths[-1] = L, L - 1
    return torch.arange(L)[None, :] < lengths[:, None]


def draw(
    seed: int,
    *,
    masked: bool = True,
    dtype: torch.dtype = torch.float64,
    shape: tuple[int, int, int] | None = None,
) -> Draw:
    """Inputs of small sizes; each feature with its own mean and spread, as in a residual stream.

    Not D = 2, where x̂ is always ±1 and a gradient is only what rounding left of a difference of large numbers.
    """
    g = torch.Generator().manual_seed(seed)
    B, L, D = shape or (2 + seed % 3, 2 + seed % 4, 3 + seed % 4)

    def randn(*size: int) -> Tensor:
        return torch.randn(size, generator=g, dtype=torch.float64)

    x_BLD = randn(B, L, D) * (0.5 + randn(D).abs()) + randn(D)
    mask_BL = ragged(B, L, g) if masked else None
    result = Draw(x_BLD.to(dtype), mask_BL, randn(B, L, D).to(dtype), randn(B, L, D).to(dtype))
    result.upstream_BLD = torch.where(result.valid_BL[..., None], result.upstream_BLD, 0)
    return result


def randomize(norm: Norm, seed: int = 0) -> Norm:
    """Parameters and running statistics that no mistake can hide behind: nothing is 0 or 1 any more."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in (*norm.parameters(), *(b for b in norm.buffers() if b.is_floating_point())):
            tensor.copy_(0.5 + torch.rand(tensor.shape, generator=g, dtype=torch.float64))
        for name, buffer in norm.named_buffers():
            if name == "num_updates":  # by position: some were never seen
                every = getattr(norm.config, "unseen", None) == "raise"
                buffer.copy_(torch.randint(0, 3, buffer.shape, generator=g).clamp(min=int(every)))
    return on_the_way(norm, after=bool(seed % 2))


def on_the_way(norm: Norm, after: bool = False) -> Norm:
    """A norm whose formula changes in the course of training: half way through, or just after a warm-up."""
    config = norm.config
    for option, at in (("decay_steps", 0.5), ("warmup_steps", float(after))):
        if hasattr(config, option):
            norm.get_buffer("num_batches_tracked").fill_(int(at * getattr(config, option)))
    return norm


def referred(norm: Norm, given: Draw) -> tuple[Tensor, dict[str, Tensor], dict[str, Tensor]]:
    """The reference: output, gradients by name, and buffers after a forward and a backward pass."""
    x, cond = (t.detach().double().clone().requires_grad_() for t in (given.x_BLD, given.cond_BLD))
    upstream = given.upstream_BLD.double()
    parameters = {k: p.detach().double().clone().requires_grad_() for k, p in norm.named_parameters()}
    state = {k: b.double().clone() for k, b in norm.named_buffers()}
    case = Case(x, given.valid_BL, cond, upstream, norm.config, parameters, norm.training, state)
    y = expected(case)
    leaves = {"x": x, "cond": cond, **parameters}
    loss = (y * upstream).sum() + case.extra
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return y.detach(), _named(leaves, grads), case.state


def measured(norm: Norm, given: Draw) -> tuple[Tensor, dict[str, Tensor]]:
    """The norm's own output and gradients by name."""
    x, cond = (t.detach().clone().requires_grad_() for t in (given.x_BLD, given.cond_BLD))
    y = norm(x, given.mask_BL, cond)
    leaves = {"x": x, "cond": cond, **dict(norm.named_parameters())}
    grads = torch.autograd.grad(y, list(leaves.values()), given.upstream_BLD, allow_unused=True)
    return y.detach(), _named(leaves, grads)


def _named(leaves: dict[str, Tensor], grads: tuple[Tensor | None, ...]) -> dict[str, Tensor]:
    return {k: torch.zeros_like(v) if g is None else g for (k, v), g in zip(leaves.items(), grads, strict=True)}


def assert_close(given: Tensor, wanted: Tensor, tolerance: float, what: str = "") -> None:
    """Equal up to `tolerance` times the largest value wanted (at least 1)."""
    assert given.shape == wanted.shape, f"{what}: {tuple(given.shape)} is not {tuple(wanted.shape)}"
    assert given.isfinite().all(), f"{what}: not finite"
    scale = max(1.0, wanted.abs().max().item()) if wanted.numel() else 1.0
    error = (given.double() - wanted.double()).abs().max().item() / scale if wanted.numel() else 0.0
    assert error <= tolerance, f"{what}: off by {error:.2e}, {tolerance:.0e} allowed"
