"""The root of the configuration, and the registration of every schema with Hydra.

Option files begin with `defaults: [/schema/<group>/<name>@_here_, _self_]`, so a misspelt key is an error.
"""

from dataclasses import dataclass
from functools import cache

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from normtrial.data import user_config
from normtrial.data.config import ClassificationConfig, LanguageModelConfig, TextConfig, WindowsConfig
from normtrial.data.synthetic import CopyConfig, OrderConfig
from normtrial.errors import not_one_of, require
from normtrial.network.model import ModelConfig
from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import NORMS
from normtrial.placements.base import PlacementConfig
from normtrial.placements.catalogue import PLACEMENTS
from normtrial.probes.catalogue import ProbeConfig
from normtrial.training.evaluation.shifts import EvalConfig
from normtrial.training.optim import OptimConfig
from normtrial.training.precision import PrecisionConfig, ScaledConfig
from normtrial.training.setup import TrainConfig
from normtrial.training.sinks.record import FileLogConfig, LogConfig, WandbLogConfig

ON_FAILURE = ("continue", "stop")


@dataclass(kw_only=True, slots=True)
class SweepConfig:
    """How `-m` goes about its runs; a single run refuses what would change nothing there."""

    dry_run: bool  # print the plan, train nothing
    on_failure: str  # continue or stop when a job crashes
    arms: list[str]  # each what one would type for it: "norm=bn norm.padding=include"

    def check(self) -> None:
        """Raise `ConfigError` on an unknown way to go on, or an empty arm."""
        if self.on_failure not in ON_FAILURE:
            raise not_one_of("sweep.on_failure", self.on_failure, ON_FAILURE)
        require(all(arm.strip() for arm in self.arms), "sweep.arms has an empty arm; write what you would type.")


@dataclass(kw_only=True, slots=True)
class Config:
    """A whole trial."""

    norm: NormConfig
    placement: PlacementConfig
    model: ModelConfig
    data: TextConfig
    optim: OptimConfig
    precision: PrecisionConfig
    log: LogConfig
    probe: ProbeConfig
    train: TrainConfig
    eval: EvalConfig
    sweep: SweepConfig
    seed: int  # of initial weights, data order and dropout
    store: str  # folder of run folders
    cache: str  # folder of tokenized text
    device: str  # auto, cpu or cuda
    compile: bool  # torch.compile the model; changes last digits, as another machine does
    rerun: bool  # train again what is finished
    wait: bool  # wait for a run that another process is training, instead of leaving it


GROUPS = ("norm", "placement", "model", "data", "optim", "precision", "log", "probe", "experiment")


SCHEMAS: dict[str, dict[str, type]] = {
    "norm": {name: norm.Config for name, norm in NORMS.items()},
    "placement": {name: placement.Config for name, placement in PLACEMENTS.items()},
    "model": {"transformer": ModelConfig},
    "data": {
        "classification": ClassificationConfig,
        "windows": WindowsConfig,
        "language_model": LanguageModelConfig,
        "order": OrderConfig,
        "copy": CopyConfig,
        **user_config.SCHEMAS,
    },
    "optim": {"adamw": OptimConfig},
    "precision": {"precision": PrecisionConfig, "scaled": ScaledConfig},
    "log": {"file": FileLogConfig, "wandb": WandbLogConfig},
    "probe": {"probe": ProbeConfig},
}


def schemas(group: str) -> dict[str, type]:
    """The dataclasses of a group's options; nodes without options, as `train`, have one."""
    return SCHEMAS.get(group) or {group: {"train": TrainConfig, "eval": EvalConfig, "sweep": SweepConfig}[group]}


@cache
def register() -> None:
    """Tell Hydra every schema, once a process."""
    store = ConfigStore.instance()
    store.store(group="schema", name="root", node=Config)
    for group, options in SCHEMAS.items():
        for name, schema in options.items():
            named = group in ("norm", "placement")  # a catalogue's: the name says which class to build
            store.store(group=f"schema/{group}", name=name, node=_named(schema, name) if named else schema)


def _named(schema: type, name: str) -> DictConfig:
    node = OmegaConf.structured(schema)
    node.name = name
    return node
