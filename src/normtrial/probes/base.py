"""What probes share: the sites of a model, what a probe is, and all of a run's probes together.

Hooks stand on the model only during a probed step, and every number goes to the host at once at its end, so a step
that is not probed costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from normtrial.sites import Sites, own_parameters

__all__ = ["Event", "OutputProbe", "Probe", "Probes", "Sites", "Values", "norms_by_site", "own_parameters"]

Values = dict[str, Tensor]  # metric name → a tensor of one element, wherever the model is
Event = tuple[str, str | None, dict[str, Any]]  # kind, site, detail


class Probe:
    """Reads the model on probed steps and changes nothing; a subclass overrides what it needs.

    It runs no module and draws no random number, and leaves outputs, gradients, parameters and buffers alone.

    Attributes:
        needs_hooks: True where it reads forward passes, which a compiled model does not show.
    """

    needs_hooks: ClassVar[bool] = False

    def __init__(self, sites: Sites):
        self.sites = sites

    def hooks(self) -> Iterable[RemovableHandle]:
        """Put hooks on the model, before the forward pass."""
        return ()

    def measure(self) -> Values:
        """What can be read after the backward pass, before gradients are clipped (and with their true scale)."""
        return {}

    def after_update(self) -> Values:
        """What can be read after the optimizer's step."""
        return {}

    def events(self, loss: float, row: Mapping[str, float]) -> Iterable[Event]:
        """What is worth an event after any step; `row` is what all probes measured, empty where none did."""
        return ()

    def state(self) -> dict[str, Any]:
        """What it remembers between steps, for the checkpoint."""
        return {}

    def load(self, state: dict[str, Any]) -> None:
        """Take up a remembered state."""


class OutputProbe(Probe):
    """A probe of forward passes: `read` is told what goes into a module and what comes out.

    Attributes:
        section: first part of its metrics' names: `section/<site>/<measure>`.
    """

    needs_hooks: ClassVar[bool] = True
    section: ClassVar[str]

    def __init__(self, sites: Sites):
        super().__init__(sites)
        self._values: Values = {}

    def place(self, module: nn.Module) -> nn.Module | None:
        """The module to read at a site; None where the site is of no interest."""
        raise NotImplementedError

    def read(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> Values:
        """Measure → value, of one forward pass, in which no gradient is recorded."""
        raise NotImplementedError

    def hooks(self) -> Iterator[RemovableHandle]:
        """One at each place."""
        self._values = {}
        for site, module in self.sites.items():
            place = self.place(module)
            if place is not None:
                yield place.register_forward_hook(self._hook(site))

    def measure(self) -> Values:
        """What the hooks have read."""
        return self._values

    def _hook(self, site: str) -> Callable[[nn.Module, tuple[Any, ...], Any], None]:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            with torch.no_grad():
                for measure, value in self.read(module, inputs, output).items():
                    self._values[f"{self.section}/{site}/{measure}"] = value

        return hook


class Probes:
    """All probes of a run; a step calls these methods in this order.

    Args:
        probes: by name.
        every: of the logged steps, those with a multiple of this number are probed, and the first.
    """

    def __init__(self, probes: Mapping[str, Probe] | None = None, every: int = 1):
        self._probes, self._every = dict(probes or {}), every
        self._probed = False
        self._values: Values = {}
        self._row: dict[str, float] = {}

    @contextmanager
    def watching(self, step: int, logged: bool) -> Iterator[None]:
        """Around forward and backward pass: with hooks in a probed step."""
        self._probed = logged and (step == 1 or step % self._every == 0)
        self._values, self._row = {}, {}
        handles: list[RemovableHandle] = []
        try:
            if self._probed:
                for probe in self._probes.values():
                    handles.extend(probe.hooks())
            yield
        finally:
            for handle in handles:
                handle.remove()

    def measure(self) -> None:
        """Between the backward pass and clipping."""
        if self._probed:
            for probe in self._probes.values():
                self._values |= probe.measure()

    def after_update(self) -> dict[str, float]:
        """After the optimizer's step: everything measured in this one, brought to the host at once."""
        if self._probed:
            for probe in self._probes.values():
                self._values |= probe.after_update()
        if self._values:
            numbers = torch.stack([value.double() for value in self._values.values()]).tolist()
            self._row = dict(zip(self._values, numbers, strict=True))
        return self._row

    def events(self, loss: float) -> list[Event]:
        """Events of the step that has just ended, probed or not."""
        return [event for probe in self._probes.values() for event in probe.events(loss, self._row)]

    def state(self) -> dict[str, Any]:
        """What the probes remember, for the checkpoint."""
        return {name: state for name, probe in self._probes.items() if (state := probe.state())}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up what a checkpoint remembers, as far as the same probes are at work."""
        for name, probe in self._probes.items():
            if name in state:
                probe.load(state[name])


def norms_by_site(tensors: Mapping[str, Sequence[Tensor]]) -> Values:
    """The 2-norm of each site's tensors taken together, in few calls, in float32 or better.

    A sum of squares a site, without scatter: that would add in another order each time on a GPU.
    """
    if not tensors:
        return {}
    flat = [tensor.detach() for each in tensors.values() for tensor in each]
    kind = torch.promote_types(flat[0].dtype, torch.float32)
    each = torch.stack(list(_foreach_norm(flat, 2, kind))).double()
    parts = each.split([len(part) for part in tensors.values()])
    return dict(zip(tensors, _foreach_norm(parts), strict=True))


_foreach_norm: Callable[..., Sequence[Tensor]] = torch._foreach_norm  # pyright: ignore[reportPrivateImportUsage]
