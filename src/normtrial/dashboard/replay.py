"""A finished run's files told to W&B, as its training would have told them.

A replay is written in `<run>/.mirror` and moved to `<run>/wandb` once it is whole, with a note of what it was
made from. So a kill leaves nothing that looks whole, and what was mirrored is known by its content. Online, W&B
itself says how many lines have arrived before a kill, and the replay goes on from there.
"""

import hashlib
import shutil
from pathlib import Path
from typing import Any, Literal

from normtrial.records import RunFolder, read_json, to_json, write_text
from normtrial.report.stored import config_of
from normtrial.report.wandb_config import wandb_config
from normtrial.training.sinks.mirror import WandbSink, link_latest
from normtrial.training.sinks.record import WandbLogConfig

End = Literal["mirrored", "failed", "clash"]
NOTE = "mirrored.json"
RECORD = ("config.yaml", "meta.json", "metrics.jsonl", "events.jsonl", "summary.json")


def note_of(folder: RunFolder, log: WandbLogConfig) -> dict[str, Any]:
    """What a mirror was made from, and for whom: an equal note means that there is nothing to do."""
    digest = hashlib.sha256()
    for name in RECORD:
        digest.update(name.encode() + b"\0" + (folder.path / name).read_bytes())
    return {"content": digest.hexdigest(), "project": log.project, "mode": log.mode}


def is_mirrored(folder: RunFolder, log: WandbLogConfig) -> bool:
    """Whether a whole mirror of this very record lies in the run folder."""
    note = note_of(folder, log)
    return any(read_json(path) == note for path in (folder.path / "wandb").glob(f"*/{NOTE}"))


def replay(folder: RunFolder, log: WandbLogConfig) -> End:
    """Tell a finished run to W&B.

    Returns:
        mirrored; failed where W&B gave up, which has been said, and which the next replay mends; clash where
        W&B has another record under this run's id, as of a run that was trained anew since: nothing was sent.
    """
    note, place = note_of(folder, log), folder.path / ".mirror"
    goes_on = read_json(place / NOTE) == note
    shutil.rmtree(place, ignore_errors=True)
    write_text(place / NOTE, to_json(note))
    summary, told = folder.read_summary(), lines_of(folder)
    assert summary is not None
    sink = sink_of(folder, log, place, summary)
    there = sink.lines_before
    if there not in (0, len(told)) and not goes_on:
        sink.leave()
        return "clash"
    sink.skip(there)
    for kind, line in told:
        sink.row(line) if kind == "row" else sink.event(line)
    sink.finish(summary)
    if sink.failed:
        return "failed"
    keep(folder, place)
    return "mirrored"


def sink_of(folder: RunFolder, log: WandbLogConfig, place: Path, summary: dict[str, Any]) -> WandbSink:
    """The mirror of a training run; in a place without records, so that its counters start at 0."""
    meta = folder.read_meta()
    return WandbSink(
        log,
        run_dir=place,
        run_id=folder.run_id,
        name=meta["name"],
        flat_config=wandb_config(config_of(folder), summary["data"]),
        meta=meta,
        group=meta.get("sweep"),
    )


def lines_of(folder: RunFolder) -> list[tuple[str, dict[str, Any]]]:
    """Rows and events by step, each a line of W&B's history; a value that was not finite is None in its row."""
    rows = [("row", {name: v for name, v in row.items() if name != "nonfinite"}) for row in folder.read_metrics()]
    events = [("event", event) for event in folder.read_events()]
    return sorted([*rows, *events], key=lambda line: line[1]["step"])


def keep(folder: RunFolder, place: Path) -> None:
    """Put a whole mirror where a training run has its own."""
    segment = (place / "latest-run").resolve()
    (place / NOTE).replace(segment / NOTE)
    kept = folder.path / "wandb" / segment.name
    kept.parent.mkdir(exist_ok=True)
    segment.rename(kept)
    link_latest(folder.path, kept)
    shutil.rmtree(place)
