"""The jobs of a sweep as lists of overrides, and their configurations without composing each anew."""

import copy
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hydra import initialize_config_dir
from hydra._internal.callbacks import Callbacks
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.types import HydraContext, RunMode
from omegaconf import DictConfig

from normtrial.config.explain import refuse_what_hydra_misreads
from normtrial.config.load import load, without_hydra
from normtrial.config.schema import Config, register
from normtrial.errors import ConfigError
from normtrial.help import CONF

Overrides = list[str]


def jobs_of(arguments: Sequence[str], arms: Sequence[str], loader: ConfigLoader) -> list[Overrides]:
    """Every combination of the lists in `arguments`, each with every arm.

    An arm is what one would type for it, `norm=bn norm.padding=include`, and may hold lists of its own. Arms vary
    fastest, so that all of them have a first seed before any has a second.

    Raises:
        ConfigError: an arm sets what the command line sets, too.
    """
    parser = OverridesParser.create(config_loader=loader)
    given = parser.parse_overrides(list(arguments))
    grids = [_combinations(given)]
    keys = {override.key_or_group for override in given}
    if not arms:
        return grids[0]
    of_arms: list[Overrides] = []
    for arm in arms:
        typed = shlex.split(arm)
        refuse_what_hydra_misreads(typed)
        parsed = parser.parse_overrides(typed)
        for override in parsed:
            if override.key_or_group in keys:
                raise ConfigError(
                    f"{override.key_or_group} is set by the arm {arm!r} and on the command line; leave out one."
                )
        of_arms += _combinations(parsed)
    return [[*job, *arm] for job in grids[0] for arm in of_arms]


def _combinations(overrides: list[Override]) -> list[Overrides]:
    return BasicSweeper.split_arguments(overrides, None)[0]


@dataclass
class Composer:
    """Composes the jobs of one sweep; what differs in values only shares one composition.

    Hydra composes the chosen files first and then sets values in the result, one after the other. So jobs that
    choose the same files start from a copy of the same composition, and get their values by Hydra's own function.
    """

    loader: ConfigLoader
    master: DictConfig  # the sweep's configuration, whose options of Hydra hold for all jobs

    def __post_init__(self) -> None:
        self._parser = OverridesParser.create(config_loader=self.loader)
        self._composed: dict[tuple[str, ...], DictConfig] = {}
        self._understood: dict[str, tuple[Override, bool]] = {}

    def compose(self, overrides: Overrides) -> Config:
        """The checked configuration of one job; raises as `load` and Hydra do."""
        parsed = [self._understand(text) for text in overrides]
        files = tuple(text for text, (_, is_file) in zip(overrides, parsed, strict=True) if is_file)
        if files not in self._composed:
            self._composed[files] = without_hydra(self.loader.load_sweep_config(self.master, list(files)))
        cfg = copy.deepcopy(self._composed[files])
        ConfigLoaderImpl._apply_overrides_to_config([one for one, is_file in parsed if not is_file], cfg)
        return load(cfg)

    def _understand(self, text: str) -> tuple[Override, bool]:
        """An override as Hydra reads it, and whether it chooses a file; jobs have most of theirs in common."""
        if text not in self._understood:
            assert isinstance(self.loader, ConfigLoaderImpl)
            (override,) = self._parser.parse_overrides([text])
            self._understood[text] = override, self.loader.repository.group_exists(override.key_or_group)
        return self._understood[text]


def workers_of(launcher: DictConfig) -> tuple[int, int | None]:
    """How many runs a configured launcher keeps going, and how many it can be given at once (None: any number)."""
    cores = len(os.sched_getaffinity(0))
    kind = launcher["_target_"].rpartition(".")[2]
    if kind == "BasicLauncher":
        return 1, None
    if kind == "JoblibLauncher":
        num = launcher.get("n_jobs", -1)
        return num if num > 0 else max(cores + 1 + num, 1), None
    if kind == "RayLauncher":
        return launcher["ray"]["init"].get("num_cpus") or cores, None
    if kind == "SlurmLauncher":
        return launcher.get("array_parallelism", 1), None
    return cores, cores  # submitit's local executor begins all it is given, however few the cores


@contextmanager
def sweeper_of(task: Callable[[DictConfig], Any], options: Sequence[str]) -> Iterator[Any]:
    """The sweeper that `python train.py -m OPTIONS` would have, for code that brings jobs of its own."""
    register()
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        hydra = GlobalHydra.instance().hydra
        assert hydra is not None
        overrides = [*options, "hydra.mode=MULTIRUN"]  # as -m adds it, for jobs to know what they are
        cfg = hydra.compose_config("config", overrides, run_mode=RunMode.MULTIRUN, with_log_configuration=False)
        context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks(cfg))
        yield Plugins.instance().instantiate_sweeper(config=cfg, hydra_context=context, task_function=task)
