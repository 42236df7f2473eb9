"""One run: configuration → data, model, loop → run folder.

A run that is finished is not trained again, one that was interrupted goes on from its last checkpoint, and two
processes never work on the same one.
"""

import os
import shutil
import signal
import time
import traceback
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from normtrial import identity, records
from normtrial.config import Config, Job, as_dict, as_yaml, current_job, load
from normtrial.data import catalogue
from normtrial.data.dataset import TextData
from normtrial.data.statistics import describe
from normtrial.errors import require
from normtrial.network.model import Transformer
from normtrial.norms.base import evaluating_with
from normtrial.norms.catalogue import norm_class
from normtrial.probes.catalogue import build_probes
from normtrial.probes.nonfinite import locate
from normtrial.records import RunFolder
from normtrial.report.curves import draw_curves
from normtrial.report.outcome import outcome_for
from normtrial.training.checkpoint import Checkpoints
from normtrial.training.loop import Loop, Setup
from normtrial.training.mirror import WandbSink
from normtrial.training.optim import build_optimizer
from normtrial.training.precision import computing_in
from normtrial.training.progress import ProgressSink
from normtrial.training.sinks import RecordSink, Sink, Sinks, WandbLogConfig, leaves

ENDED = ("finished", "diverged")  # results; crashed and interrupted runs are taken up again


def main(cfg: DictConfig) -> float | None:
    """Run the configured trial and return its outcome (validation accuracy, or validation loss).

    In a sweep a failure is written down for the comparison at the end, and the other jobs go on.
    """
    job = current_job()
    if job.sweep is None:
        return execute(load(cfg), job)
    note = job.sweep / str(job.number) / "job.json"
    content: dict[str, Any] = {"number": job.number, "command": " ".join(job.command)}
    value = None
    try:
        config = load(cfg)
        content["name"] = identity.run_name(config)
        value = execute(config, job, content)
    except Exception as error:
        content |= {"status": "crashed", "error": f"{type(error).__name__}: {error}"}
        (note.parent / "traceback.txt").write_text(traceback.format_exc(), encoding="utf-8")
    records.write_text(note, records.to_json(content))
    return value


def execute(config: Config, job: Job, note: dict[str, Any] | None = None) -> float | None:
    """Train, or take the numbers of a run that has ended; `note` is told the run id and status."""
    device = pick_device(config.device)
    torch.set_num_threads(1 if job.parallel else len(os.sched_getaffinity(0)))
    data = catalogue.load(config.data, Path(config.cache))
    folder = RunFolder(Path(config.store) / identity.run_id(config, data.fingerprint))
    note = {} if note is None else note
    note["run_id"] = folder.run_id
    with records.lock(folder.path / ".lock", wait=False) as mine:
        if not mine:
            print(f"run {folder.run_id} is being trained by another process; leaving it alone.")
            note["status"] = "busy"
            return None
        summary = ended(folder, config)
        if summary is None:
            summary = train(config, job, folder, data, device)
    note["status"] = summary["status"]
    if job.sweep is not None:
        print(f"[{job.number}] {summary['name']} {summary['status']} (run {folder.run_id})", flush=True)
    elif summary["status"] == "interrupted":
        raise KeyboardInterrupt
    return summary["metrics"].get(outcome_for(None, summary["task"]).metric)


def ended(folder: RunFolder, config: Config) -> dict[str, Any] | None:
    """The summary of a run that needs no training, after saying so; None where there is work to do."""
    summary = folder.read_summary()
    if summary is None or summary["status"] not in ENDED:
        return None
    if config.rerun:
        kept = folder.path.parent / ".superseded" / f"{folder.run_id}-{time.strftime('%Y%m%d-%H%M%S')}"
        shutil.copytree(folder.path, kept)
        for path in folder.path.iterdir():
            if path.name != ".lock":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        print(f"rerun=true: the earlier record is kept in {kept}")
        return None
    changed = folder.read_meta().get("code_hash") != identity.code_hash()
    print(
        f"run {folder.run_id} ({summary['name']}) is {summary['status']} already: {folder.path}"
        + ("\nThe code has changed since; rerun=true trains it again." if changed else "")
    )
    if not (folder.path / "curves.png").exists():
        draw_curves(folder)
    return summary


def train(config: Config, job: Job, folder: RunFolder, data: TextData, device: str) -> dict[str, Any]:
    """Train to the end, or to an interruption, and write the record."""
    checkpoints = Checkpoints(folder.path / "checkpoint", config.train.checkpoint_keep)
    resumed = checkpoints.latest()
    (folder.path / "summary.json").unlink(missing_ok=True)
    meta = identity.meta(config, job, folder.run_id, device)
    records.write_text(folder.path / "config.yaml", as_yaml(config))
    folder.write_json("meta.json", meta)
    model = build_model(config, data).to(device)
    record = RecordSink(folder, resumed["offsets"] if resumed else None)
    sinks = build_sinks(config, job, folder, record, meta, describe(data.info), resumed)
    loop = Loop(build_setup(config, model, data, device, record, sinks, checkpoints), resumed)
    if resumed:
        print(f"resuming run {folder.run_id} after step {loop.progress.step}", flush=True)
    status, reason = "crashed", None
    try:
        status, reason = loop.run()
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        summary = summarize(config, job, folder, data, model, loop, status, reason)
        folder.write_json("summary.json", summary)
        sinks.finish(summary)
        draw_curves(folder)
    if status in ENDED:
        checkpoints.clear()
    return summary


def build_model(config: Config, data: TextData) -> Transformer:
    """The configured Transformer, with the seed's initial weights."""
    return Transformer(
        config.model,
        config.norm,
        config.placement,
        vocab_size=data.task.vocab_size,
        num_outputs=data.task.num_outputs,
        max_len=config.data.max_len,
        causal=data.task.kind == "lm",
        seed=config.seed,
    )


def build_setup(
    config: Config,
    model: Transformer,
    data: TextData,
    device: str,
    record: RecordSink,
    sinks: Sinks,
    checkpoints: Checkpoints,
) -> Setup:
    """Everything that the loop works with."""
    evaluations: dict[str, Any] = {"": nullcontext}
    if norm_class(config.norm).has_running_statistics(config.norm):
        evaluations["/batch_stats"] = lambda: evaluating_with(model, "batch")

    def computing() -> AbstractContextManager:
        return computing_in(config.precision, device)

    return Setup(
        model=model,
        data=data,
        optimizer=build_optimizer(config.optim, *model.parameter_groups()),
        train=config.train,
        optim=config.optim,
        seed=config.seed,
        device=device,
        computing=computing,
        evaluations=evaluations,
        probes=build_probes(config.probe, model.sites()),
        locate=lambda backward: locate(model.sites(), backward),
        record=record,
        sinks=sinks,
        checkpoints=checkpoints,
        stop_requested=listen_for_stop(),
    )


def build_sinks(
    config: Config,
    job: Job,
    folder: RunFolder,
    record: RecordSink,
    meta: dict[str, Any],
    about: str,
    resumed: dict[str, Any] | None,
) -> Sinks:
    """The record first; then the terminal, unless jobs of a sweep would talk at once; then W&B."""
    sinks: list[Sink] = [record]
    if job.sweep is None:
        start = resumed["progress"]["step"] if resumed else 0
        sinks.append(ProgressSink(config.train.steps, meta["name"], start, about))
    if isinstance(config.log, WandbLogConfig):
        sinks.append(
            WandbSink(
                config.log,
                run_dir=folder.path,
                run_id=folder.run_id,
                name=meta["name"],
                flat_config=dict(leaves(as_dict(config))),
                meta=meta,
                group=job.sweep.name if job.sweep else None,
            )
        )
    return Sinks(sinks)


def summarize(
    config: Config,
    job: Job,
    folder: RunFolder,
    data: TextData,
    model: Transformer,
    loop: Loop,
    status: str,
    reason: str | None,
) -> dict[str, Any]:
    """The content of `summary.json`."""
    task, progress = data.task, loop.progress.as_dict()
    trivial = {"loss_nats": task.trivial_loss_nats}
    if task.trivial_accuracy is not None:
        trivial["accuracy"] = task.trivial_accuracy
    return {
        "run_id": folder.run_id,
        "name": identity.run_name(config),
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
        },
        "sweep": job.sweep.name if job.sweep else None,
    }


def pick_device(wanted: str) -> str:
    """`cuda` where asked for or, by `auto`, where there is one; else `cpu`."""
    available = torch.cuda.is_available()
    require(wanted != "cuda" or available, "device=cuda, but torch sees no CUDA device; use device=auto or cpu.")
    return "cuda" if available and wanted != "cpu" else "cpu"


def listen_for_stop() -> Any:
    """A function that is true once SIGTERM or Ctrl-C has come; a second one ends the process at once."""
    received: list[int] = []

    def note(number: int, frame: Any) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, note)
    except ValueError:
        pass  # not the main thread: signals are somebody else's
    return lambda: bool(received)
