"""Which of Hydra's jobs this process is: a single run, or one of a sweep."""

from dataclasses import dataclass
from pathlib import Path

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode


@dataclass(frozen=True, slots=True)
class Job:
    """A single run (`sweep` is None), or job `number` of a sweep."""

    sweep: Path | None = None
    number: int = 0
    parallel: bool = False  # several jobs share this machine's cores
    command: tuple[str, ...] = ()  # the overrides that make this job


def current_job() -> Job:
    """What Hydra says; a single run where Hydra did not start us."""
    if not HydraConfig.initialized():
        return Job()
    hydra = HydraConfig.get()
    command = tuple(hydra.overrides.task)
    if hydra.mode != RunMode.MULTIRUN:
        return Job(command=command)
    parallel = not hydra.launcher._target_.endswith("BasicLauncher")
    return Job(Path(hydra.sweep.dir), hydra.job.num, parallel, command)
