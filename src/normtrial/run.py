"""One run: configuration → data, model, loop → run folder.

A run that is finished is not trained again, one that was interrupted goes on from its last checkpoint, and two
processes never work on the same one.
"""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from normtrial import identity, records
from normtrial.assemble import (
    build_model,
    build_setup,
    build_sinks,
    pick_device,
    refuse_short_splits,
    summarize,
    wiring_of,
)
from normtrial.config import (
    SHOW_WIRING,
    Config,
    Job,
    as_yaml,
    current_job,
    load,
    refuse_options_of_sweeps,
    was_given,
)
from normtrial.data import catalogue
from normtrial.data.dataset import TextData
from normtrial.errors import ConfigError, require, writing
from normtrial.jobs import as_job, log_of
from normtrial.norms.catalogue import norm_class
from normtrial.records import RunFolder
from normtrial.report.advice import advice
from normtrial.report.arms import Run
from normtrial.report.figures.curves import draw_curves
from normtrial.report.outcome import outcome_for
from normtrial.training.accumulate import check_shares
from normtrial.training.loop import Loop
from normtrial.training.process.checkpoint import Checkpoints
from normtrial.training.process.gpus import own_gpu
from normtrial.training.process.memory import keep_freed_memory, reset_peak_memory
from normtrial.training.process.stopping import stop_requests
from normtrial.training.ranks import Ranks, join, leave
from normtrial.training.sinks.record import RecordSink, Sinks

ENDED = ("finished", "diverged")  # results; crashed and interrupted runs are taken up again


def main(cfg: DictConfig) -> float | None:
    """Run the configured trial and return its outcome (validation accuracy, or validation loss).

    In a sweep a failure is written down for the comparison at the end, and the other jobs go on.
    """
    if was_given(SHOW_WIRING):
        print(wiring_of(load(cfg)))
        return None
    job = current_job()
    if job.sweep is None:
        try:
            config = load(cfg)
            refuse_options_of_sweeps(config)
            return execute(config, job)
        except ConfigError as error:  # as an exit it passes through Hydra, which would print its own lines first
            raise SystemExit(f"normtrial: {error}") from error
        finally:
            leave()
    return as_job(job, lambda: load(cfg), lambda config, note: execute(config, job, note))


def execute(config: Config, job: Job, note: dict[str, Any] | None = None) -> float | None:
    """Train, or take the numbers of a run that has ended; `note` is told the run id and status."""
    device = pick_device(config.device)
    ranks = join(config.data.batch_size, device)
    refuse_unsynced(config, ranks)
    check_shares(config.data.batch_size, config.train.accumulate, ranks.num)
    require(ranks.num == 1 or not config.wait, "wait=true is for a single process; others would lose patience.")
    keep_freed_memory()
    cores = len(os.sched_getaffinity(0)) // ranks.num_local
    torch.set_num_threads(1 if job.parallel else max(1, cores))
    torch.backends.cudnn.deterministic, torch.backends.cudnn.allow_tf32 = True, False  # filters on a GPU, too
    data = catalogue.load(config.data, Path(config.cache))
    folder = identity.folder_of(config, data.fingerprint)
    note = {} if note is None else note
    note["run_id"] = folder.run_id
    outcome = outcome_for(None, data.task.kind)
    with writing(folder.path), taken(folder, config.wait) if ranks.is_first else nullcontext(True) as mine:
        if not ranks.decided_by_first(mine):
            if not job.watched:
                print(f"{elsewhere(folder)}; leaving it alone.")
            note["status"] = "busy"
            return None
        with log_of(job, folder):
            summary = ranks.decided_by_first(ended(folder, config) if ranks.is_first else None)
            if summary is None:
                with stop_requests(job.stop) as stop_requested, own_gpu(device, job.number) as own:
                    summary = train(config, job, folder, data, own, ranks, stop_requested)
    note["status"] = summary["status"]
    if job.sweep is None and ranks.is_first and (told := advice(Run.read(folder))):
        print(told)
    if job.sweep is None and summary["status"] == "interrupted":
        raise KeyboardInterrupt
    return outcome.worst if summary["status"] == "diverged" else summary["metrics"].get(outcome.metric)


def taken(folder: RunFolder, wait: bool) -> AbstractContextManager[bool]:
    """The run for this process alone, at once or after waiting; False where another has it."""
    folder.path.mkdir(parents=True, exist_ok=True)
    return records.lock(
        folder.path / ".lock", wait, busy=lambda: print(f"{elsewhere(folder)}; waiting.", flush=True)
    )


def elsewhere(folder: RunFolder) -> str:
    """What is said of a run that another process holds."""
    return f"run {folder.run_id} is being trained by another process"


def ended(folder: RunFolder, config: Config) -> dict[str, Any] | None:
    """The summary of a run that needs no training, after saying so; None where there is work to do."""
    folder.remove_leftovers()
    try:
        summary = folder.read_summary()
    except ValueError as error:
        print(f"{folder.path}/summary.json cannot be read ({error}); the run is taken up again.")
        summary = None
    has_ended = summary is not None and summary["status"] in ENDED
    earlier = folder.read_meta().get("code_hash")
    changed = earlier not in (None, identity.code_hash())
    if config.rerun and (has_ended or changed):
        kept = folder.path.parent / ".superseded" / f"{folder.run_id}-{time.strftime('%Y%m%d-%H%M%S')}"
        shutil.copytree(folder.path, kept)
        (folder.path / "summary.json").unlink(missing_ok=True)  # first: without it nobody takes the rest for whole
        for path in sorted(folder.path.iterdir()):  # `checkpoint` before what would make it unusable
            if path.name not in (".lock", "log.txt"):  # which we hold, and write
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        print(f"rerun=true: the earlier record is kept in {kept}")
        return None
    if not has_ended:
        if changed:
            print(f"run {folder.run_id} was begun by other code ({earlier}); rerun=true starts it anew.")
        return None
    assert summary is not None
    print(
        f"run {folder.run_id} ({summary['name']}) is {summary['status']} already: {folder.path}"
        + ("\nThe code has changed since; rerun=true trains it again." if changed else "")
    )
    if not (folder.path / "curves.png").exists():
        draw_curves(folder)
    Checkpoints(folder.path / "checkpoint", keep=1).clear()  # a kill may have come before its turn
    return summary


def train(
    config: Config,
    job: Job,
    folder: RunFolder,
    data: TextData,
    device: str,
    ranks: Ranks,
    stop_requested: Callable[[], bool],
) -> dict[str, Any]:
    """Train to the end, or to an interruption; the first rank writes the record."""
    refuse_short_splits(config, data)
    checkpoints = Checkpoints(folder.path / "checkpoint", config.train.checkpoint_keep)
    resumed = checkpoints.latest(usable=lambda content: belongs(content, folder))
    meta = identity.meta(config, job, folder.run_id, device, ranks.num)
    before = folder.read_meta() if resumed else {}
    known = {*before.get("earlier_code", []), before.get("code_hash")}
    meta["earlier_code"] = sorted(known - {None, meta["code_hash"]})
    reset_peak_memory()
    record, sinks = None, Sinks([])
    if ranks.is_first:
        (folder.path / "summary.json").unlink(missing_ok=True)
        records.write_text(folder.path / "config.yaml", as_yaml(config))
        folder.write_json("meta.json", meta)
        record = RecordSink(folder, resumed["offsets"] if resumed else None)
        sinks = build_sinks(config, job, folder, record, meta, data, resumed)
    model = build_model(config, data).to(device)
    setup = build_setup(config, model, data, device, record, sinks, checkpoints, ranks, stop_requested)
    loop = Loop(setup, resumed)
    if resumed and ranks.is_first:
        print(f"resuming run {folder.run_id} after step {loop.progress.step}", flush=True)
    status, reason = "crashed", None
    try:
        status, reason = loop.run()
    except KeyboardInterrupt:
        status, reason = "interrupted", "stopped at once"
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        raise
    finally:
        summary = summarize(meta, data, model, loop, status, reason)
        if ranks.is_first:
            try:
                folder.write_json("summary.json", summary)
            finally:
                sinks.finish(summary)
            draw_curves(folder)
    if status in ENDED and ranks.is_first:
        checkpoints.clear()
    return summary


def belongs(content: dict[str, Any], folder: RunFolder) -> bool:
    """Whether a checkpoint is this run's, whose files are at least as long as it remembers them."""
    if content.get("run_id") != folder.run_id:
        return False
    sizes = {"metrics": folder.metrics_path, "events": folder.events_path}
    return all(path.exists() and path.stat().st_size >= content["offsets"][name] for name, path in sizes.items())


def refuse_unsynced(config: Config, ranks: Ranks) -> None:
    """Batch statistics of several processes must be shared: otherwise every rank would train another model."""
    mixes = norm_class(config.norm).mixes_examples(config.norm)
    require(
        ranks.num == 1 or not mixes or getattr(config.norm, "sync", "none") != "none",
        f"norm={config.norm.name} takes its statistics over the batch, which {ranks.num} processes share; "
        "set norm.sync=global to take them over all processes.",
    )
