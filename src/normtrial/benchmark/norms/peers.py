"""What torch has in the place of each norm. A new norm needs a line in PEERS.

Shapes: B examples, L positions, D model width, N valid tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(slots=True, eq=False)
class Case:
    """What both sides of a comparison are given; `mask_BL` is None where nothing is padded."""

    x_BLD: Tensor
    dy_BLD: Tensor
    cond_BLD: Tensor
    mask_BL: Tensor | None

    def packed(self, values_BLD: Tensor) -> Tensor:
        """The valid tokens alone, (N, D)."""
        flat = values_BLD.detach().flatten(0, 1)
        return flat.clone() if self.mask_BL is None else flat[self.mask_BL.flatten()]


@dataclass(slots=True, eq=False)
class Work:
    """A forward pass, what it is differentiated by, and the gradient that comes from above."""

    compute: Callable[[], Tensor]
    leaves: list[Tensor]
    dy: Tensor

    def forward(self) -> Tensor:
        """The forward pass alone, as in evaluation without gradients."""
        with torch.no_grad():
            return self.compute()

    def both(self) -> tuple[Tensor, ...]:
        """Forward and backward, with fresh gradients."""
        return torch.autograd.grad(self.compute(), self.leaves, self.dy)


class Peer(NamedTuple):
    """torch's own; `equal` where valid tokens come out the same (a test compares them), else the nearest."""

    label: str
    work: Callable[[Case], Work]
    equal: bool = True

    @property
    def title(self) -> str:
        """The label, with a ~ where it is something else."""
        return self.label if self.equal else f"~ {self.label}"


def layer_norm(case: Case) -> Work:
    """The fused kernel."""
    x, weight, bias = _leaves(case)
    return Work(lambda: F.layer_norm(x, x.shape[-1:], weight, bias), [x, weight, bias], case.dy_BLD)


def rms_norm(case: Case) -> Work:
    """Fused on a GPU, a chain of simple operations on a CPU."""
    x, weight, _ = _leaves(case)
    return Work(lambda: F.rms_norm(x, x.shape[-1:], weight, 1e-6), [x, weight], case.dy_BLD)


def sentence_layer_norm(case: Case) -> Work:
    """With one gain and shift a feature, as the norm has."""
    x, weight, bias = _leaves(case)
    return Work(lambda: torch.addcmul(bias, F.layer_norm(x, x.shape[1:]), weight), [x, weight, bias], case.dy_BLD)


def packed_batch_norm(case: Case) -> Work:
    """On tokens that were packed beforehand, so that leaving out pads costs nothing."""
    x, weight, bias = _leaves(case)
    x_ND = case.packed(x).requires_grad_()
    mean, variance = torch.zeros_like(bias), torch.ones_like(bias)

    def compute() -> Tensor:
        return F.batch_norm(x_ND, mean, variance, weight, bias, training=True)

    return Work(compute, [x_ND, weight, bias], case.packed(case.dy_BLD))


def gathered_batch_norm(case: Case) -> Work:
    """With gathering before and scattering after, as one would type it."""
    x, weight, bias = _leaves(case)
    mean, variance = torch.zeros_like(bias), torch.ones_like(bias)
    mask = torch.ones(x.shape[:2], dtype=torch.bool) if case.mask_BL is None else case.mask_BL

    def compute() -> Tensor:
        y_BLD = torch.zeros_like(x)
        y_BLD[mask] = F.batch_norm(x[mask], mean, variance, weight, bias, training=True)
        return y_BLD

    return Work(compute, [x, weight, bias], case.dy_BLD)


def position_batch_norm(case: Case) -> Work:
    """Every feature of every position as a channel; counts pads."""
    x, weight, bias = _leaves(case)
    mean, variance = torch.zeros(x[0].numel()), torch.ones(x[0].numel())

    def compute() -> Tensor:
        y_BLD = F.batch_norm(x.flatten(1), mean, variance, training=True).view_as(x)
        return torch.addcmul(bias, y_BLD, weight)

    return Work(compute, [x, weight, bias], case.dy_BLD)


def instance_norm(case: Case) -> Work:
    """Channels are torch's second axis; counts pads."""
    x, weight, bias = _leaves(case)

    def compute() -> Tensor:
        return F.instance_norm(x.transpose(1, 2), weight=weight, bias=bias).transpose(1, 2)

    return Work(compute, [x, weight, bias], case.dy_BLD)


def adaptive(normalize: Callable[[Tensor], Tensor], num_gains: int | None) -> Callable[[Case], Work]:
    """A norm without gain, and a linear map of the condition to `num_gains` gains and shifts (None: a feature)."""

    def work(case: Case) -> Work:
        x, _, _ = _leaves(case)
        cond = case.cond_BLD.detach().requires_grad_()
        num = 2 * (num_gains or x.shape[-1])
        map_, shift_ = torch.zeros(num, x.shape[-1], requires_grad=True), torch.zeros(num, requires_grad=True)

        def compute() -> Tensor:
            gain, shift = F.linear(cond, map_, shift_).chunk(2, dim=-1)
            return torch.addcmul(shift, normalize(x), 1 + gain)

        return Work(compute, [x, cond, map_, shift_], case.dy_BLD)

    return work


def pointwise(function: Callable[[Tensor], Tensor], num_scalars: int) -> Callable[[Case], Work]:
    """γ f(α x (+ s)) + β."""

    def work(case: Case) -> Work:
        x, weight, bias = _leaves(case)
        scalars = [torch.tensor(value, requires_grad=True) for value in (0.5, 0.0)[:num_scalars]]

        def compute() -> Tensor:
            z = x * scalars[0]
            return torch.addcmul(bias, function(z + scalars[1] if num_scalars > 1 else z), weight)

        return Work(compute, [x, weight, bias, *scalars], case.dy_BLD)

    return work


def identity(case: Case) -> Work:
    """Nothing."""
    x, _, _ = _leaves(case)
    return Work(lambda: x, [x], case.dy_BLD)


def _leaves(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    width = case.x_BLD.shape[-1]
    x, weight, bias = case.x_BLD.detach().clone(), torch.ones(width), torch.zeros(width)
    return x.requires_grad_(), weight.requires_grad_(), bias.requires_grad_()


def _plain_layer_norm(x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:])


def _plain_rms_norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


LAYER_NORM, RMS_NORM = Peer("layer_norm", layer_norm), Peer("rms_norm", rms_norm)
NEAR_LAYER_NORM, NEAR_RMS_NORM = LAYER_NORM._replace(equal=False), RMS_NORM._replace(equal=False)
BATCH_NORM = Peer("packed batch_norm", packed_batch_norm)
GATHERED = Peer("gathered batch_norm", gathered_batch_norm)
NEAR_BATCH_NORM = BATCH_NORM._replace(equal=False)
PEERS: dict[str, tuple[Peer, ...]] = {
    "bn": (BATCH_NORM, GATHERED),
    "bn_pos": (Peer("batch_norm a position", position_batch_norm, equal=False),),
    "bn_token_rms": (NEAR_BATCH_NORM,),
    "rbn": (BATCH_NORM,),  # its fine is no part of the output
    "power": (NEAR_BATCH_NORM,),
    "power_v": (NEAR_BATCH_NORM,),
    "repbn": (NEAR_BATCH_NORM,),
    "ln": (LAYER_NORM,),
    "rms": (RMS_NORM, NEAR_LAYER_NORM),
    "ada": (Peer("layer_norm, linear", adaptive(_plain_layer_norm, None)),),
    "ln_std_eps": (NEAR_LAYER_NORM,),
    "ln_std_eps_biased": (NEAR_LAYER_NORM,),
    "ln_alpha": (NEAR_LAYER_NORM,),
    "ln_detach": (NEAR_LAYER_NORM,),
    "ln_seq": (Peer("layer_norm of (L, D)", sentence_layer_norm),),
    "ln_seq_mask": (Peer("layer_norm of (L, D)", sentence_layer_norm, equal=False),),
    "instance_mask": (Peer("instance_norm", instance_norm, equal=False),),
    "rms_eps_out": (NEAR_RMS_NORM,),
    "rms_bias": (NEAR_RMS_NORM,),
    "prms": (NEAR_RMS_NORM,),
    "scale": (NEAR_RMS_NORM,),
    "rms_half": (NEAR_RMS_NORM,),
    "ada_scalar": (Peer("layer_norm, linear", adaptive(_plain_layer_norm, 1)),),
    "ada_rms": (Peer("rms_norm, linear", adaptive(_plain_rms_norm, None)),),
    "adanorm": (NEAR_LAYER_NORM,),
    "dyt": (Peer("tanh", pointwise(torch.tanh, 1)),),
    "derf": (Peer("erf", pointwise(torch.erf, 2)),),
    "none": (Peer("the input", identity),),
}
