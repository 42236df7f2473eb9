"""Ten steps of every norm in every placement on both tasks: tiny models, made-up tokens, the real training parts.

Shapes: B examples, L positions.
"""

import json
import math
from pathlib import Path

import torch
from torch import nn

from normtrial.training.evaluation.predict import mean_loss
from normtrial.training.optim import build_optimizer, learning_rate
from tests.network.models import CLASSES, build, lengths_mask, small, tokens
from tests.norms.options import PAIRS, TASKS, legal

FILE = Path(__file__).with_name("steps.json")
NUM_STEPS = 10
B, L = 6, 8
Steps = dict[str, list[float]]


def names() -> list[str]:
    """Every arm that may be trained: `norm/placement/task`."""
    return [f"{norm}/{placement}/{task}" for norm, placement in PAIRS for task in TASKS if legal(norm, task)]


def trajectory(name: str) -> Steps:
    """Loss and global gradient norm of each step, on one thread."""
    norm, placement, task = name.split("/")
    config = small(norm, placement, task, train__steps=NUM_STEPS, optim__warmup_steps=3, optim__lr=0.01)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        network = build(config).train()
        optimizer = build_optimizer(config.optim, *network.parameter_groups())
        steps: Steps = {"loss_nats": [], "gradient_norm": []}
        for step in range(1, NUM_STEPS + 1):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(config.optim, step, NUM_STEPS)
            optimizer.zero_grad(set_to_none=True)
            loss = _loss(network, task, step)
            penalty = network.penalty()
            (loss if penalty is None else loss + penalty).backward()
            clip = math.inf if config.optim.clip is None else config.optim.clip
            gradient_norm = nn.utils.clip_grad_norm_(network.parameters(), clip)
            optimizer.step()
            steps["loss_nats"].append(loss.item())
            steps["gradient_norm"].append(gradient_norm.item())
        return steps
    finally:
        torch.set_num_threads(threads)


def _loss(network: nn.Module, task: str, step: int) -> torch.Tensor:
    """Next tokens, without padding; or a class that the first token gives away, with padding of every amount."""
    tokens_BL = tokens(step, B, L + 1)
    if task == "lm":
        return mean_loss(network(tokens_BL[:, :-1]), tokens_BL[:, 1:])
    mask_BL = lengths_mask([L, 1, 3, 5, 7, 2], L)
    return mean_loss(network(tokens_BL[:, :L], mask_BL), tokens_BL[:, 0] % CLASSES)


def read() -> dict[str, Steps]:
    """The numbers that are kept."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def write(kept: dict[str, Steps]) -> None:
    """Keep numbers, one list a line, so that a difference can be read."""
    arms = []
    for name, steps in sorted(kept.items()):
        lists = [
            f'    "{key}": {json.dumps([float(f"{v:.7g}") for v in values])}' for key, values in steps.items()
        ]
        arms.append(f'  "{name}": {{\n' + ",\n".join(lists) + "\n  }")
    FILE.write_text("{\n" + ",\n".join(arms) + "\n}\n", encoding="utf-8")
