"""Where a non-finite value came up first: a step is taken again, every operation watched.

Each operation whose result is not finite is noted, with the operations before it that its non-finite inputs came
from. Walking back from the loss or a gradient leads to the first one; a NaN that is masked out leads nowhere,
nor does the -inf of an attention mask. Hooks say which site or module each operation belongs to; an operation of
the backward pass belongs where the forward one was whose gradient it computes.

    with Watch(model, sites) as watch:
        loss = step()                      # forward and backward
    watch.origin(loss, gradients)          # site, pass, op, dtype, input, eps, ...
    watch.chain                            # magnitudes site by site
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from normtrial.probes.base import Sites
from normtrial.probes.magnitudes import is_finite, magnitudes

LOSS, MODEL = "loss", "model"  # what lies outside the model; within it, but in none of its modules
# Operations that put a value where it was asked for, or give out memory with whatever is in it.
PLACING = ("scalar_tensor", "full", "fill", "masked_fill", "where", "empty", "new_empty", "empty_like")


@dataclass(slots=True)
class Record:
    """An operation whose result is not finite."""

    number: int
    path: str | None  # of the innermost module; None outside the model
    detail: dict[str, Any]
    causes: list["Record"]


@dataclass(slots=True)
class Call:
    """A module's forward pass: which autograd nodes it made."""

    path: str
    start: int
    end: int | None = None


class Watch(TorchDispatchMode):
    """Watches what runs inside its `with` block; the model must be called there, and not compiled."""

    def __init__(self, model: nn.Module, sites: Sites):
        super().__init__()
        self.chain: list[dict[str, Any]] = []
        self._model = model
        self._modules = dict(model.named_modules())
        self._sites = {id(module): site for site, module in sites.items()}
        self._inputs: dict[str, Tensor] = {}  # by path
        self._calls: list[Call] = []
        self._stack: list[Call] = []
        self._records: dict[int, Record] = {}  # by storage, the last one written to it
        self._count = 0
        self._looking = False  # our own operations are not watched
        self._handles: list[Any] = []

    def __enter__(self) -> "Watch":
        for path, module in self._modules.items():
            enter, leave = self._hooks(path)
            self._handles.append(module.register_forward_pre_hook(enter, prepend=True))
            # also after an exception, by which activation checkpointing ends a second forward pass early
            self._handles.append(module.register_forward_hook(leave, always_call=True))
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        for handle in self._handles:
            handle.remove()
        super().__exit__(*error)

    def origin(self, loss: Tensor, gradients: Iterable[Tensor]) -> dict[str, Any]:
        """The first operation whose result is not finite, of those that loss or gradients come from.

        `site` and `pass` are None where loss and gradients are finite; so they are where the overflow is in the
        norm of finite gradients.
        """
        record = self._record_of(loss)
        if record is None:
            bad = [found for g in gradients if (found := self._record_of(g)) is not None]
            record = min((_first(r) for r in bad), key=lambda r: r.number, default=None)
        if record is None:
            return {"site": None, "pass": None}
        record = _first(record)
        return {"site": self._site(record.path), "module": record.path, **record.detail, **self._around(record)}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self._looking:
            return result
        inputs = [t for t in tree_leaves((args, kwargs)) if _counts(t)]
        known = {_storage(t) for t in inputs}
        for output in tree_leaves(result):
            if not _counts(output):
                continue
            if not is_finite(output):
                self._note(func, output, inputs)
            elif _storage(output) not in known:
                self._records.pop(_storage(output), None)  # memory used anew
        return result

    def _note(self, func: Any, output: Tensor, inputs: list[Tensor]) -> None:
        name = func.overloadpacket.__name__
        bad = [t for t in inputs if t is not output and not is_finite(t)]
        if any(_storage(t) == _storage(output) for t in inputs):  # in place: what was there before it
            bad.append(output)
        causes = [self._records[_storage(t)] for t in bad if _storage(t) in self._records]
        if not causes and name.rstrip("_") in PLACING:
            return
        node = torch._C._current_autograd_node()  # pyright: ignore[reportAttributeAccessIssue]
        self._count += 1
        detail = {
            "pass": "forward" if node is None else "backward",
            "op": name,
            "node": None if node is None else node.name(),
            "output": magnitudes(output),
            "operands": [magnitudes(t) for t in inputs[:3]],
        }
        path = self._stack[-1].path if self._stack else self._path_of(node)
        self._records[_storage(output)] = Record(self._count, path, detail, causes)

    def _record_of(self, tensor: Tensor) -> Record | None:
        return None if is_finite(tensor) else self._records.get(_storage(tensor))

    def _path_of(self, node: Any) -> str | None:
        """The innermost module in which the forward operation of an autograd node ran."""
        if node is None:
            return None
        variable = getattr(node, "variable", None)  # the last node of a parameter, which adds up its gradient
        if variable is not None:
            named = self._model.named_parameters()
            return next((name.rpartition(".")[0] for name, p in named if p is variable), None)
        number = node._sequence_nr()
        around = [c for c in self._calls if c.start <= number < (c.end or 0)]
        return min(around, key=lambda c: (c.end or 0) - c.start).path if around else None

    def _site(self, path: str | None) -> str:
        """The stable name of the site around a module, or the module's own path where there is none."""
        if path is None:
            return LOSS
        site = self._around_site(path)
        return path or MODEL if site is None else self._sites[id(self._modules[site])]

    def _around_site(self, path: str | None) -> str | None:
        while path:
            if id(self._modules[path]) in self._sites:
                return path
            path = path.rpartition(".")[0]
        return None

    def _around(self, record: Record) -> dict[str, Any]:
        """The site's input (the operation's own, outside of sites), and the eps in force there."""
        site, path, eps = self._around_site(record.path), record.path, None
        while path and eps is None:
            eps = getattr(self._modules[path], "eps", None)
            path = path.rpartition(".")[0] if path != site else None
        output = record.detail["output"]
        found: dict[str, Any] = {"dtype": output["dtype"], "eps": eps}
        if eps is not None:
            found["eps_rounded"] = float(torch.tensor(eps, dtype=getattr(torch, output["dtype"])))
        given = self._inputs.get(site or "")
        found["input"] = magnitudes(given) if given is not None else next(iter(record.detail["operands"]), None)
        return found

    def _hooks(self, path: str) -> tuple[Callable[..., None], Callable[..., None]]:
        def enter(module: nn.Module, inputs: tuple) -> None:
            self._stack.append(Call(path, _next_node()))
            given = next((t for t in inputs if _counts(t)), None)
            if given is not None and id(module) in self._sites:
                self._inputs[path] = given.detach()

        def leave(module: nn.Module, inputs: tuple, output: Any) -> None:
            call = self._stack.pop()
            call.end = _next_node()
            self._calls.append(call)
            site = self._sites.get(id(module))
            if site is not None and _counts(output):
                self._link(site, "forward", output)
                if output.requires_grad:
                    output.register_hook(lambda gradient: self._link(site, "backward", gradient))

        return enter, leave

    def _link(self, site: str, direction: str, tensor: Tensor) -> None:
        """One more link of the chain: a site's output, or the gradient that arrives there."""
        self._looking = True
        self.chain.append({"site": site, "pass": direction, **magnitudes(tensor)})
        self._looking = False


def _first(record: Record) -> Record:
    """The earliest of the operations that led to this one."""
    seen, open_, earliest = {record.number}, [record], record
    while open_:
        record = open_.pop()
        earliest = min(earliest, record, key=lambda r: r.number)
        for cause in record.causes:
            if cause.number not in seen:
                seen.add(cause.number)
                open_.append(cause)
    return earliest


def _next_node() -> int:
    """The number that the next autograd node of this thread gets."""
    return torch.autograd._get_sequence_nr()  # pyright: ignore[reportPrivateImportUsage]


def _counts(value: Any) -> bool:
    """A tensor that can hold a NaN."""
    return isinstance(value, Tensor) and value.is_floating_point()


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
