"""One process of a distributed run over real gloo: `python -m tests.norms.ranks_worker RANK GIVEN KEPT STORE`.

It normalizes its part of every batch, for each norm asked for, and keeps outputs, gradients and buffers.
"""

import sys
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import build_norm

Part = tuple[Tensor, Tensor, Tensor]  # x_BLD, mask_BL, and the gradient that arrives from above


@dataclass
class Task:
    """A norm with its state, and for every batch the parts of all ranks."""

    config: NormConfig
    max_len: int
    state: dict[str, Tensor]
    batches: list[list[Part]]


def normalize(task: Task, rank: int) -> dict[str, Any]:
    """What a rank's parts come out as, and what is left in the norm."""
    norm = build_norm(task.batches[0][0][0].shape[-1], task.config, task.max_len).double()
    norm.load_state_dict(task.state)
    found: dict[str, Any] = {"y": [], "x": [], "penalty": []}
    for parts in task.batches:
        x_BLD, mask_BL, upstream_BLD = parts[rank]
        x_BLD = x_BLD.clone().requires_grad_()
        y_BLD = norm(x_BLD, mask_BL)
        loss, penalty = (y_BLD * upstream_BLD).sum(), norm.penalty()
        if penalty is not None:
            loss = loss + penalty / len(parts)  # every rank holds the same one
            found["penalty"].append(penalty.detach())
        loss.backward()
        found["y"].append(y_BLD.detach())
        found["x"].append(x_BLD.grad)
    return found | {
        "parameters": {k: p.grad for k, p in norm.named_parameters()},
        "buffers": dict(norm.named_buffers()),
    }


def main(rank: int, given: str, kept: str, store: str) -> None:
    """Do every task of the file `given`, in the same order on every rank."""
    torch.set_num_threads(1)
    tasks = torch.load(given, weights_only=False)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    try:
        torch.save([normalize(task, rank) for task in tasks], kept)
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:5])
