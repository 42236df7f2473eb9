"""The objects of a run, put together from its configuration: model, loop, sinks; and its summary at the end."""

import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from normtrial import identity
from normtrial.config import Config, Job, as_dict, as_yaml
from normtrial.data.dataset import TextData
from normtrial.data.statistics import describe
from normtrial.errors import require
from normtrial.network.model import Transformer
from normtrial.network.noise import noisy
from normtrial.network.wiring import describe as describe_wiring
from normtrial.norms.base import Norm, evaluating_with
from normtrial.norms.catalogue import norm_class
from normtrial.probes.catalogue import build_probes
from normtrial.probes.dead import DeadOutputs
from normtrial.records import RunFolder
from normtrial.report.wandb_config import wandb_config
from normtrial.training.compiling import compiled
from normtrial.training.evaluation.shifts import Shifts
from normtrial.training.loop import Loop
from normtrial.training.nonfinite.forensics import Forensics
from normtrial.training.nonfinite.replay import Replica
from normtrial.training.optim import build_optimizer
from normtrial.training.precision import build_scaler, computing_in
from normtrial.training.process.checkpoint import Checkpoints
from normtrial.training.ranks import Ranks
from normtrial.training.setup import Setup
from normtrial.training.sinks.mirror import WandbSink
from normtrial.training.sinks.progress import ProgressSink
from normtrial.training.sinks.record import RecordSink, Sink, Sinks, WandbLogConfig, leaves


def build_model(config: Config, data: TextData) -> Transformer:
    """The configured Transformer, with the seed's initial weights."""
    model = transformer(config, data.task.vocab_size, data.task.num_outputs)
    return model.to(config.precision.format.weights)


def wiring_of(config: Config) -> str:
    """The configured model in words. Reads no data: vocabulary and classes, which it leaves out, are made up."""
    size = f"{config.model.num_layers} layers, width {config.model.d_model}"
    title = f"placement={config.placement.name} norm={config.norm.name}, {size}"
    return describe_wiring(transformer(config, vocab_size=2, num_outputs=2), title)


def transformer(config: Config, vocab_size: int, num_outputs: int) -> Transformer:
    """The configured Transformer for a vocabulary and a number of classes (or, of a language model, of tokens)."""
    return Transformer(
        config.model,
        config.norm,
        config.placement,
        vocab_size=vocab_size,
        num_outputs=num_outputs,
        max_len=config.data.max_len,
        causal=config.data.kind == "lm",
        seed=config.seed,
    )


def build_setup(
    config: Config,
    model: Transformer,
    data: TextData,
    device: str,
    record: RecordSink | None,
    sinks: Sinks,
    checkpoints: Checkpoints,
    ranks: Ranks,
    stop_requested: Callable[[], bool],
) -> Setup:
    """Everything that the loop works with."""
    evaluations: dict[str, Any] = {"": nullcontext}
    if norm_class(config.norm).has_running_statistics(config.norm):
        evaluations["/batch_stats"] = lambda: evaluating_with(model, "batch")
    replica = replica_of(config, model, device)
    about = {"config": as_yaml(config), "vocab_size": data.task.vocab_size, "num_outputs": data.task.num_outputs}
    return Setup(
        model=model,
        forward=compiled(ranks.wrap(model)) if config.compile else ranks.wrap(model),
        data=data,
        optimizer=build_optimizer(config.optim, *model.parameter_groups()),
        train=config.train,
        optim=config.optim,
        seed=config.seed,
        device=device,
        computing=replica.computing,
        evaluations=evaluations,
        probes=build_probes(config.probe, model.sites(blocks=True)),
        forensics=Forensics(replica, ranks, checkpoints.folder.with_name("nonfinite"), about),
        dead=DeadOutputs(replica.norms) if config.precision.format.is_half and not config.compile else None,
        scaler=build_scaler(config.precision, device),
        penalty=model.penalty,
        ranks=ranks,
        record=record,
        sinks=sinks,
        checkpoints=checkpoints,
        stop_requested=stop_requested,
        shifts=build_shifts(config, model),
    )


def refuse_short_splits(config: Config, data: TextData) -> None:
    """Raise `ConfigError` where a split is too short for an evaluation that is asked for."""
    buckets = config.eval.length_buckets
    for split in ("val", "test"):
        for shift in config.eval.shifts():
            require(
                data.eval_size(split, shift.view) > 0,
                f"The {split} split of data={config.data.source} has no example left under {shift.name}.",
            )
        require(
            buckets is None or buckets <= data.eval_size(split),
            f"eval.length_buckets={buckets} is more than the {split} split of data={config.data.source} holds.",
        )


def build_shifts(config: Config, model: Transformer) -> Shifts:
    """The evaluations beside the plain ones."""
    return Shifts(
        each=tuple(config.eval.shifts()),
        always=config.eval.when == "always",
        length_buckets=config.eval.length_buckets,
        noisy=lambda sigma: noisy(model.embedding, sigma, config.eval.seed),
    )


def replica_of(config: Config, model: Transformer, device: str) -> Replica:
    """What steps of this model are repeated with."""
    sites = model.sites()
    return Replica(
        model,
        sites,
        norms={site: module for site, module in sites.items() if isinstance(module, Norm)},
        computing=lambda: computing_in(config.precision, device),
        penalty=model.penalty,
        num_micro=config.train.accumulate,
    )


def build_sinks(
    config: Config,
    job: Job,
    folder: RunFolder,
    record: RecordSink,
    meta: dict[str, Any],
    data: TextData,
    resumed: dict[str, Any] | None,
) -> Sinks:
    """The record first; then the terminal, or a job's log; then W&B."""
    start = resumed["progress"]["step"] if resumed else 0
    sinks: list[Sink] = [record, ProgressSink(config.train.steps, meta["name"], start, describe(data.info))]
    if isinstance(config.log, WandbLogConfig):
        sinks.append(
            WandbSink(
                config.log,
                run_dir=folder.path,
                run_id=folder.run_id,
                name=meta["name"],
                flat_config=wandb_config(dict(leaves(as_dict(config))), data.info),
                meta=meta,
                group=job.sweep.name if job.sweep else None,
            )
        )
    return Sinks(sinks)


def summarize(
    meta: dict[str, Any], data: TextData, model: Transformer, loop: Loop, status: str, reason: str | None
) -> dict[str, Any]:
    """The content of `summary.json`."""
    task, progress = data.task, loop.progress.as_dict()
    trivial = {"loss_nats": task.trivial_loss_nats}
    if task.trivial_accuracy is not None:
        trivial["accuracy"] = task.trivial_accuracy
    return {
        "run_id": meta["run_id"],
        "name": meta["name"],
        "status": status,
        "reason": reason,
        "task": task.kind,
        "steps": progress.pop("step"),
        **progress,
        "trivial": trivial,
        "data": data.info,
        "model": {
            "parameters": sum(p.numel() for p in model.parameters()),
            "norm_parameters": sum(p.numel() for norm in model.norms() for p in norm.parameters()),
            "weights_sha256": identity.weights_digest(model),
        },
        "sweep": meta["sweep"],
    }


def pick_device(wanted: str) -> str:
    """`cuda` where asked for or, by `auto`, where there is one (one for each local process); else `cpu`."""
    available = torch.cuda.is_available()
    require(wanted != "cuda" or available, "device=cuda, but torch sees no CUDA device; use device=auto or cpu.")
    if not available or wanted == "cpu":
        return "cpu"
    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}"
