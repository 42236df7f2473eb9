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
    pooled: bool = False  # run by a pool that kills all its workers when one of them dies
    watched: bool = False  # by a sweeper that reads what jobs leave in files
    command: tuple[str, ...] = ()  # the overrides that make this job

    @property
    def folder(self) -> Path | None:
        """Where a job of a sweep leaves what it knows about itself."""
        return None if self.sweep is None else self.sweep / str(self.number)

    @property
    def stop(self) -> Path | None:
        """The file whose presence ends the sweep: running jobs keep their state, no other is begun."""
        return None if self.sweep is None else self.sweep / "stop"


def current_job() -> Job:
    """What Hydra says; a single run where Hydra did not start us."""
    if not HydraConfig.initialized():
        return Job()
    hydra = HydraConfig.get()
    command = tuple(hydra.overrides.task)
    if hydra.mode != RunMode.MULTIRUN:
        return Job(command=command)
    launcher = hydra.launcher._target_.rpartition(".")[2]
    return Job(
        sweep=Path(hydra.sweep.dir),
        number=hydra.job.num,
        parallel=launcher != "BasicLauncher",
        pooled=launcher == "JoblibLauncher",
        watched=hydra.sweeper._target_.startswith("hydra_plugins.normtrial_"),
        command=command,
    )
