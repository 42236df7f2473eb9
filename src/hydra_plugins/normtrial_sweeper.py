"""normtrial's sweeper, where Hydra looks for plugins; the work is done in `normtrial.sweep`."""

import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException

from normtrial.errors import ConfigError


@dataclass
class SweeperConfig:
    """Options of the sweeper."""

    _target_: str = "hydra_plugins.normtrial_sweeper.NormtrialSweeper"
    max_batch_size: int | None = None
    params: dict[str, str] | None = None


class NormtrialSweeper(BasicSweeper):
    """All combinations, checked before the first starts, compared when the last has ended."""

    num_jobs = 0

    def validate_batch_is_legal(self, batch: Any) -> None:
        """Compose and check every job: a mistake in the last costs nothing yet."""
        from normtrial import config

        assert self.hydra_context is not None and self.config is not None
        for overrides in batch:
            config.load(self.hydra_context.config_loader.load_sweep_config(self.config, list(overrides)))
        self.num_jobs += len(batch)
        print(f"sweep of {len(batch)} jobs: {self.config.hydra.sweep.dir}", flush=True)

    def sweep(self, arguments: list[str]) -> Any:
        """Run all jobs through the configured launcher, then print the comparison; exits 1 if a job crashed."""
        from normtrial import sweep

        assert self.config is not None
        folder, returns = Path(self.config.hydra.sweep.dir), None
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers end with us, as on Ctrl-C
        try:
            returns = super().sweep(arguments)
        except (HydraException, ConfigError):
            raise  # a mistake, found before any job began
        except Exception as error:
            print(f"normtrial: the launcher gave up: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            signal.signal(signal.SIGTERM, before)
        sweep.conclude(folder, Path(self.config.store), self.num_jobs)
        return returns


ConfigStore.instance().store(group="hydra/sweeper", name="normtrial", node=SweeperConfig)
