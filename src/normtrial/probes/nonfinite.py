"""Where a non-finite value came up first.

The step is taken again with a hook on every site's output: forward values are checked in the order of the
forward pass, gradients in the order of the backward pass. The first hit is the answer.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from normtrial.probes.base import Sites, own_parameters


def locate(sites: Sites, backward: Callable[[], Tensor]) -> dict[str, Any]:
    """Run `backward()` watched; `site`, `pass` and the finite range of the first non-finite tensor.

    Looks at outputs (forward), then at gradients with respect to outputs (backward), then at gradients of
    parameters. All None where the second time everything is finite.
    """
    found: list[dict[str, Any]] = []

    def check(site: str, direction: str, tensor: Tensor) -> None:
        if not found and not bool(torch.isfinite(tensor).all()):
            found.append({"site": site, "pass": direction, **_range(tensor)})

    def watch(site: str) -> Callable[..., None]:
        def hook(module: torch.nn.Module, inputs: tuple, output: Tensor) -> None:
            check(site, "forward", output.detach())
            if output.requires_grad:
                output.register_hook(lambda gradient: check(site, "backward", gradient))

        return hook

    handles = [module.register_forward_hook(watch(site)) for site, module in sites.items()]
    try:
        loss = backward()
        if found and found[0]["pass"] == "backward" and not bool(torch.isfinite(loss.detach()).all()):
            found.clear()  # the loss came before any gradient
        check("loss", "forward", loss.detach())
    finally:
        for handle in handles:
            handle.remove()
    for site, parameters in reversed(own_parameters(sites).items()):
        for parameter in parameters:
            if parameter.grad is not None:
                check(site, "parameter_gradient", parameter.grad)
    return found[0] if found else {"site": None, "pass": None}


def _range(tensor: Tensor) -> dict[str, Any]:
    """How many values are not finite, and the largest magnitude of those that are."""
    finite = tensor[torch.isfinite(tensor)]
    return {
        "num_nan": int(torch.isnan(tensor).sum()),
        "num_inf": int(torch.isinf(tensor).sum()),
        "max_abs_finite": float(finite.abs().max()) if len(finite) else math.nan,
        "dtype": str(tensor.dtype).removeprefix("torch."),
    }
