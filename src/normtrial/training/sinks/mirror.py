"""W&B as a mirror of the run folder: what it shows is already on disk, and its failure costs only the mirror.

Everything is written under `RUN_FOLDER/wandb`. To look at it and to upload it:

    wandb leet inspect --summary RUN_FOLDER
    wandb sync RUN_FOLDER/wandb
"""

import math
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from normtrial.errors import ConfigError
from normtrial.records import RunFolder
from normtrial.training.sinks.record import WandbLogConfig, leaves

# A divergence is a result, not a failure; 255 is what W&B's own exit hook reports for Ctrl-C.
EXIT_CODES = {"finished": 0, "diverged": 0, "crashed": 1, "interrupted": 255}
FINISH_TIMEOUT_S = 60.0  # an upload that hangs must not hold a sweep's worker; `wandb sync` sends the rest


class WandbSink:
    """Rows as history over our own `step`, events and non-finite values as counters, the summary."""

    def __init__(
        self,
        config: WandbLogConfig,
        *,
        run_dir: Path,
        run_id: str,
        name: str,
        flat_config: Mapping[str, Any],
        meta: Mapping[str, Any],
        group: str | None = None,
        tags: Sequence[str] = (),
    ):
        self._counts = counted(RunFolder(run_dir))
        self._to_skip = 0
        self.failed = False  # W&B gave up on the way
        self._run: Any = None
        self._run_dir = Path(run_dir)
        description = {f"meta.{key}": value for key, value in leaves(meta)}
        with _Guard(self):
            self._run = start(
                config.mode,
                project=config.project,
                id=run_id,
                name=name,
                group=config.group or group,
                tags=list(dict.fromkeys([*config.tags, *tags])),
                config={**flat_config, **description},
                dir=str(run_dir),
            )
            link_latest(Path(run_dir), Path(self._run.settings.sync_dir))

    @property
    def lines_before(self) -> int:
        """How many lines of history W&B had of this run before; offline it knows of none."""
        return 0 if self._run is None else self._run.starting_step

    def skip(self, lines: int) -> None:
        """Count the next rows and events without sending them: W&B has them."""
        self._to_skip = lines

    def row(self, row: dict[str, Any]) -> None:
        """Send a row; a non-finite value is counted under `events/nonfinite_values` and left out."""
        finite = {name: value for name, value in row.items() if is_finite(value)}
        if len(finite) < len(row):
            self._counts["events/nonfinite_values"] += len(row) - len(finite)
            finite["events/nonfinite_values"] = self._counts["events/nonfinite_values"]
        self._log(finite)

    def event(self, event: dict[str, Any]) -> None:
        """Send how many events of this kind there have been."""
        name = f"events/{event['kind']}"
        self._counts[name] += 1
        self._log({"step": event["step"], name: self._counts[name]})

    def finish(self, summary: dict[str, Any]) -> None:
        """Send the summary and the exit code, and close the run."""
        run = self._run
        if run is None:
            return
        with _Guard(self):
            run.summary.update(summary_values(summary))
            if run.settings._offline:
                run.finish(exit_code=EXIT_CODES[summary["status"]])
            else:
                url = run.url
                run.finish(exit_code=EXIT_CODES[summary["status"]])
                print(f"W&B: {url}")
        self._run = None

    def leave(self) -> None:
        """Close the run without a word about it."""
        run, self._run = self._run, None
        if run is not None:
            with _Guard(self):
                run.finish()

    def _log(self, values: dict[str, Any]) -> None:
        if self._to_skip:
            self._to_skip -= 1
        elif self._run is not None:
            with _Guard(self):
                self._run.log(values)

    def stop(self, error: Exception) -> None:
        """Give the mirror up and say so once; the run goes on."""
        self._run, self.failed = None, True
        warnings.warn(
            f"W&B stopped mirroring this run ({type(error).__name__}: {error}); "
            f"every number is in {self._run_dir}.",
            stacklevel=3,
        )


class _Guard:
    """Turn whatever W&B raises, except a user's mistake, into the end of the mirror."""

    def __init__(self, sink: WandbSink):
        self._sink = sink

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
        if isinstance(error, Exception) and not isinstance(error, ConfigError):
            self._sink.stop(error)
            return True
        return False


def start(mode: Any, **arguments: Any) -> Any:
    """`wandb.init` without what costs time or talks: console, git, code, system metrics, machine facts."""
    import wandb
    from wandb.errors import UsageError

    settings = wandb.Settings(
        silent=True,
        console="off",
        disable_git=True,
        disable_code=True,
        save_code=False,
        x_disable_stats=True,
        x_disable_meta=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )
    if "finish_timeout" in type(settings).model_fields:  # since wandb 0.23
        settings.finish_timeout = FINISH_TIMEOUT_S
    try:
        # One process trains several runs in a sweep: "create_new" never hands back another job's open run.
        run = wandb.init(mode=mode, resume="allow", reinit="create_new", settings=settings, **arguments)
    except UsageError as error:
        raise ConfigError(
            f"log.mode={mode}: {error}; run `wandb login` first, or keep log.mode=offline and `wandb sync` later."
        ) from error
    # W&B drops rows whose own step goes back, as after a resume from a checkpoint; ours is a metric.
    run.define_metric("step", hidden=True)
    run.define_metric("*", step_metric="step")
    return run


def link_latest(run_dir: Path, sync_dir: Path) -> None:
    """Make W&B's tools find its newest segment from the run folder itself, by the link they look for."""
    link = run_dir / "latest-run"
    link.unlink(missing_ok=True)
    link.symlink_to(sync_dir.resolve().relative_to(run_dir.resolve()), target_is_directory=True)


def counted(folder: RunFolder) -> Counter[str]:
    """What the counters stand at: a resumed run's records are those of before, cut back to its checkpoint."""
    counts = Counter(f"events/{event['kind']}" for event in folder.read_events())
    counts["events/nonfinite_values"] = sum(len(row.get("nonfinite", ())) for row in folder.read_metrics())
    return counts


def is_finite(value: Any) -> bool:
    """Whether W&B can draw a value: anything but None and a non-finite float."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def summary_values(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The summary's flat values for W&B: metrics under their own names, the rest under dotted ones.

    >>> summary_values({"steps": 50, "metrics": {"val/accuracy": 0.5}, "best": {"val/accuracy": [0.6, 40]}})
    {'val/accuracy': 0.5, 'best/val/accuracy': 0.6, 'best_step/val/accuracy': 40, 'steps': 50}
    """
    values = dict(summary.get("metrics") or {})
    for name, (value, step) in (summary.get("best") or {}).items():
        values |= {f"best/{name}": value, f"best_step/{name}": step}
    apart = ("metrics", "best", "data", "run_id", "name")  # the data set is described in summary.json
    values |= leaves({key: value for key, value in summary.items() if key not in apart})
    return {name: value for name, value in values.items() if is_finite(value)}
