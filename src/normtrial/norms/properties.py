"""What a norm does, measured, beside what its class declares: the table of `scripts/properties.py`.

Shapes: B examples, L positions, D model width.

A value is changed somewhere, and it is seen who notices. Anything with a norm's signature can be measured: a norm,
or a stack of norms that a placement wires.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from normtrial.norms.base import Norm, NormConfig
from normtrial.norms.catalogue import build_norm, norm_class

B, L, D = 4, 6, 8
MORE_PADS = 2
HALF_WAY = 3  # positions from here on are the future of those before
NOTICED, INVARIANT = 1e-9, 1e-3  # in float64; invariance holds up to eps
PLACES = ("examples", "positions", "padding", "future", "future_eval", "train_eval")  # of any stack
INVARIANCES = ("scale", "shift")  # of a norm by itself
COLUMNS = {
    "examples": "blind to other examples",
    "positions": "blind to other positions",
    "padding": "blind to padding",
    "future": "causal in training",
    "future_eval": "causal in evaluation",
    "train_eval": "training = evaluation",
    "scale": "scale invariant",
    "shift": "shift invariant",
    "parameters": "parameters",
    "state": "state",
}


class Row(NamedTuple):
    """A norm's measured properties, and the names of those that its class declares otherwise."""

    measured: dict[str, bool]
    disagreeing: list[str]
    parameters: str
    state: str


def row(config: NormConfig) -> Row:
    """One norm of the table."""
    norm = prepared(build_norm(D, config, L if norm_class(config).fixed_length(config) else L + MORE_PADS))
    found = measure(norm) | measure_invariances(norm)
    declared = predict(config)
    wrong = [key for key in found if found[key] != declared[key]]
    buffers = ", ".join(name for name, _ in norm.named_buffers())
    return Row(found, wrong, count_by_width(config), buffers)


def predict(config: NormConfig) -> dict[str, bool]:
    """What follows from the class and the options, without running anything."""
    cls = norm_class(config)
    examples, positions = not cls.mixes_examples(config), not cls.mixes_positions(config)
    return {
        "examples": examples,
        "positions": positions,
        "padding": not cls.sees_padding(config),
        "future": positions,
        "future_eval": positions or not cls.evaluates_with_batch(config),
        "train_eval": not cls.has_running_statistics(config) or cls.evaluates_with_batch(config),
        "scale": cls.scale_invariant,
        "shift": cls.shift_invariant,
    }


def prepared(module: nn.Module) -> nn.Module:
    """In float64, with parameters behind which nothing hides and with a history of two batches."""
    module.double().train()
    g = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=g, dtype=torch.float64))
        for seed in (1, 2):
            module(*_inputs(seed))
    return module


def measure(module: nn.Module) -> dict[str, bool]:
    """The properties named in PLACES, of anything with `forward(x_BLD, mask_BL, cond_BLD)`."""
    x_BLD, mask_BL, cond_BLD = _inputs(0)
    other_BLD, _, other_cond_BLD = _inputs(3)
    longer = torch.cat((mask_BL, torch.zeros_like(mask_BL[:, :MORE_PADS])), dim=1)

    def after(changed: Tensor, training: bool = True) -> Tensor:
        """The output when the values at these places, and their condition, are others."""
        where = changed.unsqueeze(-1)
        x, cond = torch.where(where, other_BLD, x_BLD), torch.where(where, other_cond_BLD, cond_BLD)
        return _run(module, x, mask_BL, cond, training)

    nowhere = torch.zeros_like(mask_BL)
    before, before_eval = after(nowhere), after(nowhere, training=False)
    first, start, future = (nowhere.clone() for _ in range(3))
    first[0], start[:, 0], future[:, HALF_WAY:] = True, True, True  # an example, a position, all late positions
    more = _run(module, _lengthened(x_BLD), longer, _lengthened(cond_BLD)) if _takes_any_length(module) else before
    return {
        "examples": not _differ(before, after(~first), first & mask_BL),
        "positions": not _differ(before, after(first & ~start), first & start)
        and not _differ(before, after(first & start), first & future & mask_BL),
        "padding": not _differ(before, after(~mask_BL), mask_BL) and not _differ(before, more[:, :L], mask_BL),
        "future": not _differ(before, after(future & first), ~future & first),
        "future_eval": not _differ(before_eval, after(future & first, training=False), ~future & first),
        "train_eval": not _differ(before, before_eval, mask_BL),
    }


def measure_invariances(norm: nn.Module) -> dict[str, bool]:
    """In training: of all values times 4, and of all values plus 4."""
    x_BLD, mask_BL, cond_BLD = _inputs(0)
    before = _run(norm, x_BLD, mask_BL, cond_BLD)
    changes: dict[str, Callable[[Tensor], Tensor]] = {"scale": lambda x: 4 * x, "shift": lambda x: x + 4}
    return {
        key: not _differ(before, _run(norm, change(x_BLD), mask_BL, cond_BLD), mask_BL, INVARIANT)
        for key, change in changes.items()
    }


def count_by_width(config: NormConfig) -> str:
    """The number of parameters as a polynomial in D, from three widths.

    >>> count_by_width(NormConfig(name="none"))
    '0'
    """
    n = [sum(p.numel() for p in build_norm(d, config, L).parameters()) for d in (2, 3, 4)]
    square = (n[2] - 2 * n[1] + n[0]) // 2
    linear = n[1] - n[0] - 5 * square
    terms = {"D²": square, "D": linear, "": n[0] - 2 * linear - 4 * square}
    shown = [f"{'' if k == 1 and power else k}{power}" for power, k in terms.items() if k]
    return " + ".join(shown) or "0"


def _inputs(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Values with a mean, a mask in which the first example is full up to one pad, and a condition."""
    g = torch.Generator().manual_seed(seed)
    x_BLD, cond_BLD = torch.randn(2, B, L, D, generator=g, dtype=torch.float64).unbind(0)
    lengths = torch.tensor([L - 1, L, L, HALF_WAY])
    return x_BLD + 0.5, torch.arange(L) < lengths[:, None], cond_BLD


def _run(module: nn.Module, x: Tensor, mask: Tensor, cond: Tensor, training: bool = True) -> Tensor:
    """The output, leaving running statistics as they were."""
    kept = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with torch.no_grad():
        y = module.train(training)(x, mask, cond).clone()
        for name, buffer in module.named_buffers():
            buffer.copy_(kept[name])
    return y


def _takes_any_length(module: nn.Module) -> bool:
    norms = (m for m in module.modules() if isinstance(m, Norm))
    return not any(norm.fixed_length(norm.config) for norm in norms)


def _lengthened(x_BLD: Tensor) -> Tensor:
    return torch.cat((x_BLD, 9 + x_BLD[:, :MORE_PADS]), dim=1)


def _differ(one: Tensor, other: Tensor, where: Tensor, tolerance: float = NOTICED) -> bool:
    scale = max(1.0, one[where].abs().max().item())
    return (one[where] - other[where]).abs().max().item() > tolerance * scale
