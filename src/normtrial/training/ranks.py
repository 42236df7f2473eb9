"""Several processes training one model: `torchrun --nproc-per-node 2 train.py …`.

Every rank takes its rows of every batch, DistributedDataParallel averages the gradients, all ranks evaluate,
and only the first writes. A single process is the special case of one rank.
"""

import os
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from normtrial.data.batch import Batch
from normtrial.errors import require


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among those that train one model."""

    rank: int = 0
    num: int = 1
    local_rank: int = 0
    num_local: int = 1

    @property
    def is_first(self) -> bool:
        """True in the one process that writes."""
        return self.rank == 0

    def share(self, batch: Batch) -> Batch:
        """This rank's rows of a batch, padded as the whole is."""
        if self.num == 1:
            return batch
        rows = slice(self.rank, None, self.num)
        mask_BL = None if batch.mask_BL is None else batch.mask_BL[rows]
        return Batch(batch.tokens_BL[rows], mask_BL, batch.targets[rows])

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model whose backward pass averages gradients over ranks."""
        if self.num == 1:
            return model
        # Buffers: running statistics are equal on all ranks already, or the configuration was refused.
        return nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)

    def mean(self, value: float) -> float:
        """Mean over ranks; every rank must call it."""
        if self.num == 1:
            return value
        total = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(total)
        return float(total) / self.num

    def any(self, flag: bool) -> bool:
        """True where it is true on any rank; every rank must call it."""
        return self.mean(float(flag)) > 0

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on every rank."""
        if self.num == 1:
            return [value]
        found: list[Any] = [None] * self.num
        dist.all_gather_object(found, value)
        return found

    def decided_by_first(self, value: Any) -> Any:
        """What the first rank says, on every rank."""
        if self.num == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0)
        return box[0]


def join(batch_size: int, device: str) -> Ranks:
    """The ranks that torchrun has started, or the only one.

    Raises:
        ConfigError: the batch cannot be shared equally, so that the mean over ranks would not be its mean.
    """
    num = int(os.environ.get("WORLD_SIZE", 1))
    if num == 1:
        return Ranks()
    require(
        batch_size % num == 0,
        f"data.batch_size={batch_size} cannot be shared by {num} processes; make it a multiple of {num}.",
    )
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo")
    local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    return Ranks(dist.get_rank(), num, *local)


def leave() -> None:
    """End the group of processes, where there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()
