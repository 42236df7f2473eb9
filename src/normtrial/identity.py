"""What names a run and what produced it: run id, code hash, versions, machine."""

import hashlib
import importlib.metadata
import json
import os
import platform
import shlex
import socket
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from normtrial import records
from normtrial.config import Config, Job, scientific

PACKAGES = ("torch", "numpy", "hydra-core", "omegaconf", "datasets", "tokenizers", "wandb", "normtrial")


def run_id(config: Config, fingerprint: str) -> str:
    """Twelve hex digits of the hash over the scientific configuration and the content of the data."""
    chosen = {
        name: value
        for name, value in scientific(config).items()
        if name not in records.FOUND_BY_CONTENT and not (name in records.ADDED and value == records.ADDED[name])
    }
    content = {"schema": records.SCHEMA_VERSION, "config": chosen, "data": fingerprint}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def folder_of(config: Config, fingerprint: str) -> records.RunFolder:
    """The folder of the run, whether it exists yet or not."""
    return records.RunFolder(Path(config.store) / run_id(config, fingerprint))


def run_name(config: Config) -> str:
    """What a person calls the run: `bn-pre-s0`."""
    return f"{config.norm.name}-{config.placement.name}-s{config.seed}"


@cache
def code_hash() -> str:
    """Twelve hex digits over every source file of the package: changes with any of them."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def weights_digest(model: nn.Module) -> str:
    """SHA-256 over name, dtype, shape and bytes of every parameter and buffer: equal for equal models only."""
    digest = hashlib.sha256()
    for name, value in model.state_dict().items():
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\0".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def meta(config: Config, job: Job, identifier: str, device: str, num_ranks: int = 1) -> dict[str, Any]:
    """The content of `meta.json`."""
    return {
        "run_id": identifier,
        "name": run_name(config),
        "schema": records.SCHEMA_VERSION,
        "code_hash": code_hash(),
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in PACKAGES},
        },
        "host": socket.gethostname(),
        "cores": len(os.sched_getaffinity(0)),
        "processes": num_ranks,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else platform.machine(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": shlex.join(["python", Path(sys.argv[0]).name, *job.command]),
        "sweep": job.sweep.name if job.sweep else None,
    }
