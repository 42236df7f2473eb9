"""normtrial's sweeper, where Hydra looks for plugins; the work is done in `normtrial.sweep`."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from omegaconf import OmegaConf

if TYPE_CHECKING:  # Hydra imports every plugin, also for --help
    from normtrial.sweep import Entry


@dataclass
class SweeperConfig:
    """Options of the sweeper."""

    _target_: str = "hydra_plugins.normtrial_sweeper.NormtrialSweeper"
    max_batch_size: int | None = None  # runs a call of the launcher
    params: dict[str, str] | None = None


class NormtrialSweeper(BasicSweeper):
    """All combinations: checked before the first starts, trained where unfinished, compared in the end."""

    def sweep(self, arguments: list[str]) -> Any:
        """Print the plan, or follow it and print the comparison; exits 1 if a run failed."""
        from normtrial import sweep
        from normtrial.config.multirun import jobs_of

        assert self.config is not None and self.hydra_context is not None
        typed = [*self._parse_config(), *arguments]
        jobs = jobs_of(typed, list(self.config.sweep.arms), self.hydra_context.config_loader)
        entries = sweep.distinct(self.plan(jobs))
        if num := sweep.by_other_code(entries):
            print(
                f"The code has changed since {num} of the runs finished; rerun=true trains them again.", flush=True
            )
        if entries[0].config.sweep.dry_run:
            sweep.print_plan(entries, self.launching().workers)
            return
        print(f"sweep of {sweep.in_short(entries)}: {self.folder}", flush=True)
        self.train(entries)
        sweep.conclude(entries, self.folder)

    @property
    def folder(self) -> Path:
        """Where jobs leave their notes."""
        assert self.config is not None
        return Path(self.config.hydra.sweep.dir)

    def plan(self, jobs: "Iterable[list[str]]") -> "list[Entry]":
        """The run of each job; jobs may share one."""
        from normtrial import sweep
        from normtrial.config.multirun import Composer

        assert self.config is not None and self.hydra_context is not None
        return sweep.plan(jobs, Composer(self.hydra_context.config_loader, self.config).compose)

    def train(self, entries: "list[Entry]") -> None:
        """Launch until every entry has ended."""
        from normtrial import sweep

        assert self.config is not None
        self.folder.mkdir(parents=True, exist_ok=True)
        OmegaConf.save(self.config, self.folder / "multirun.yaml")
        sweep.carry_out(entries, self.launching(), self.folder, entries[0].config.sweep.on_failure)

    def launching(self) -> Any:
        """The configured launcher, as the sweep uses it."""
        from normtrial.config.multirun import workers_of
        from normtrial.sweep import Launching

        assert self.config is not None and self.launcher is not None
        workers, at_once = workers_of(self.config.hydra.launcher)
        return Launching(self.launcher.launch, workers, self.max_batch_size or at_once)


ConfigStore.instance().store(group="hydra/sweeper", name="normtrial", node=SweeperConfig)
