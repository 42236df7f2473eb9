"""Where a run's numbers go: a sink takes rows and events as they happen, and the summary at the end.

The loop knows one `Sinks`; behind it stand the run folder (`RecordSink`, always first, so that a number is on
disk before anything else sees it), the terminal (`progress.ProgressSink`) and W&B (`mirror.WandbSink`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from normtrial.errors import ConfigError, not_one_of, require
from normtrial.records import JsonLines, RunFolder

WANDB_MODES = ("offline", "online")


@dataclass(kw_only=True, slots=True)
class LogConfig:
    """Where a run's numbers go besides its folder."""

    def check(self) -> None:
        """Raise `ConfigError` on values that cannot work."""


@dataclass(kw_only=True, slots=True)
class FileLogConfig(LogConfig):
    """Nowhere else: the run folder is all."""


@dataclass(kw_only=True, slots=True)
class WandbLogConfig(LogConfig):
    """To W&B as well."""

    mode: str  # "offline" or "online"
    project: str
    group: str | None
    tags: list[str]

    def check(self) -> None:
        """Raise `ConfigError` on an unknown mode or an empty project."""
        if self.mode == "disabled":
            raise ConfigError("log.mode 'disabled' does not exist; log=file trains without W&B.")
        if self.mode not in WANDB_MODES:
            raise not_one_of("log.mode", self.mode, WANDB_MODES)
        require(bool(self.project.strip()), "log.project is empty; W&B needs a project name.")


class Sink(Protocol):
    """What the loop tells its numbers to."""

    def row(self, row: dict[str, Any]) -> None:
        """Take one flat row; it has `step`."""

    def event(self, event: dict[str, Any]) -> None:
        """Take one event: `step`, `kind`, `site`, `detail`."""

    def finish(self, summary: dict[str, Any]) -> None:
        """Take the summary, once, after `summary.json` is written."""


class Sinks:
    """Several sinks as one, told in the order given."""

    def __init__(self, sinks: Sequence[Sink]):
        self._sinks = list(sinks)

    def plus(self, sink: Sink) -> "Sinks":
        """These, and another told last."""
        return Sinks([*self._sinks, sink])

    def row(self, row: dict[str, Any]) -> None:
        """Tell every sink a row."""
        for sink in self._sinks:
            sink.row(row)

    def event(self, event: dict[str, Any]) -> None:
        """Tell every sink an event."""
        for sink in self._sinks:
            sink.event(event)

    def finish(self, summary: dict[str, Any]) -> None:
        """Tell every sink the summary."""
        for sink in self._sinks:
            sink.finish(summary)


class RecordSink:
    """The run folder's `metrics.jsonl` and `events.jsonl`.

    `offsets` belongs in every checkpoint; given back on resume, it cuts both files to that moment, so a
    resumed run's files are those of a run that was never interrupted.
    """

    def __init__(self, folder: RunFolder, offsets: Mapping[str, int] | None = None):
        cut = offsets or {"metrics": 0, "events": 0}
        self.run_id = folder.run_id
        self._metrics = JsonLines(folder.metrics_path, truncate_to=cut["metrics"])
        self._events = JsonLines(folder.events_path, truncate_to=cut["events"])

    def offsets(self) -> dict[str, int]:
        """Bytes written so far to either file."""
        return {"metrics": self._metrics.offset(), "events": self._events.offset()}

    def row(self, row: dict[str, Any]) -> None:
        """Append a row to `metrics.jsonl`."""
        self._metrics.append(row)

    def event(self, event: dict[str, Any]) -> None:
        """Append an event to `events.jsonl`."""
        self._events.append(event)

    def finish(self, summary: dict[str, Any]) -> None:
        """Close both files."""
        self._metrics.close()
        self._events.close()


def leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested mappings under its dotted name; a list is a leaf.

    >>> dict(leaves({"norm": {"name": "bn", "eps": 1e-5}, "seed": 0}))
    {'norm.name': 'bn', 'norm.eps': 1e-05, 'seed': 0}
    """
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from leaves(value, f"{name}.")
        else:
            yield name, value
