"""The configuration as plain values: for the run folder, for W&B, and for the run id."""

from dataclasses import asdict
from typing import Any

from omegaconf import OmegaConf

from normtrial.config.schema import Config

UNSCIENTIFIC = ("log", "probe", "store", "cache", "device", "rerun")  # cannot change a number that is compared
UNSCIENTIFIC_TRAIN = ("log_every", "checkpoint_every", "checkpoint_keep")


def as_dict(config: Config) -> dict[str, Any]:
    """Nested dictionaries of plain values."""
    return asdict(config)


def as_yaml(config: Config) -> str:
    """YAML that OmegaConf reads back to equal values (1e-5 stays a number)."""
    return OmegaConf.to_yaml(OmegaConf.create(as_dict(config)))


def scientific(config: Config) -> dict[str, Any]:
    """What makes a run the run it is: all but paths, logging, probes, device and the like."""
    values = {name: value for name, value in as_dict(config).items() if name not in UNSCIENTIFIC}
    values["train"] = {k: v for k, v in values["train"].items() if k not in UNSCIENTIFIC_TRAIN}
    return values
