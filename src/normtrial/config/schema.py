"""The root of the configuration, and the registration of every schema with Hydra.

Option files begin with `defaults: [/schema/<group>/<name>@_here_, _self_]`, so a misspelt key is an error.
"""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from normtrial.data import user_config
from normtrial.data.config import ClassificationConfig, LanguageModelConfig, TextConfig, WindowsConfig
from normtrial.data.synthetic import CopyConfig, OrderConfig
from normtrial.network.model import ModelConfig
from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import NORMS
from normtrial.placements.base import PlacementConfig
from normtrial.placements.catalogue import PLACEMENTS
from normtrial.probes.catalogue import ProbeConfig
from normtrial.training.optim import OptimConfig
from normtrial.training.precision import PrecisionConfig
from normtrial.training.setup import TrainConfig
from normtrial.training.shifts import EvalConfig
from normtrial.training.sinks import FileLogConfig, LogConfig, WandbLogConfig


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
    seed: int  # of initial weights, data order and dropout
    store: str  # folder of run folders
    cache: str  # folder of tokenized text
    device: str  # auto, cpu or cuda
    compile: bool  # torch.compile the model; changes last digits, as another machine does
    rerun: bool  # train again what is finished
    wait: bool  # wait for a run that another process is training, instead of leaving it


GROUPS = ("norm", "placement", "model", "data", "optim", "precision", "log", "probe", "experiment")


def register() -> None:
    """Tell Hydra every schema."""
    store = ConfigStore.instance()
    store.store(group="schema", name="root", node=Config)
    for name, norm in NORMS.items():
        store.store(group="schema/norm", name=name, node=_named(norm.Config, name))
    for name, placement in PLACEMENTS.items():
        store.store(group="schema/placement", name=name, node=_named(placement.Config, name))
    for group, name, node in (
        ("model", "transformer", ModelConfig),
        ("data", "classification", ClassificationConfig),
        ("data", "windows", WindowsConfig),
        ("data", "language_model", LanguageModelConfig),
        ("data", "order", OrderConfig),
        ("data", "copy", CopyConfig),
        *(("data", name, given) for name, given in user_config.SCHEMAS.items()),
        ("optim", "adamw", OptimConfig),
        ("precision", "precision", PrecisionConfig),
        ("log", "file", FileLogConfig),
        ("log", "wandb", WandbLogConfig),
        ("probe", "probe", ProbeConfig),
    ):
        store.store(group=f"schema/{group}", name=name, node=node)


def _named(schema: type, name: str) -> DictConfig:
    node = OmegaConf.structured(schema)
    node.name = name
    return node
