"""A GPU for each process of this machine, while there are enough: jobs of a sweep would all take the first."""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import torch

LOCKS = Path(tempfile.gettempdir()) / f"normtrial-gpus-{os.getuid()}"  # of this machine, whatever disks are shared


@contextmanager
def own_gpu(device: str, turn: int) -> Iterator[str]:
    """Instead of `cuda:0` the first GPU that no other such process has; other devices as they are."""
    if device != "cuda:0":
        yield device
        return
    with own_one_of(
        visible_gpus(torch.cuda.device_count(), os.environ.get("CUDA_VISIBLE_DEVICES")), turn
    ) as index:
        yield f"cuda:{index}"


def visible_gpus(num: int, mask: str | None) -> list[str]:
    """The names by which the machine knows the GPUs that this process sees as 0, 1, ….

    >>> visible_gpus(2, None), visible_gpus(2, "3,5")
    (['0', '1'], ['3', '5'])
    """
    names = [name.strip() for name in mask.split(",")] if mask else []
    return (names + [str(index) for index in range(len(names), num)])[:num]


@contextmanager
def own_one_of(names: Sequence[str], turn: int, locks: Path = LOCKS) -> Iterator[int]:
    """The index of one whose lock was free, held meanwhile; by turns where all are taken."""
    locks.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        for index, name in enumerate(names):
            file = (locks / f"{name.replace('/', '-')}.lock").open("a")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                continue
            stack.enter_context(file)
            yield index
            return
        yield turn % len(names)
