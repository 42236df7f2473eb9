"""The configuration as plain values: for the run folder, for W&B, and for the run id."""

from dataclasses import asdict
from typing import Any

from omegaconf import OmegaConf

from normtrial.config.schema import Config
from normtrial.data.tokenizer import catalogue as tokenizers
from normtrial.records import is_scientific
from normtrial.training.sinks.record import leaves


def as_dict(config: Config) -> dict[str, Any]:
    """Nested dictionaries of plain values."""
    return asdict(config)


def as_yaml(config: Config) -> str:
    """YAML that OmegaConf reads back to equal values (1e-5 stays a number)."""
    return OmegaConf.to_yaml(OmegaConf.create(as_dict(config)))


def scientific(config: Config) -> dict[str, Any]:
    """What makes a run the run it is, by dotted name: all but paths, logging, probes, device and the like."""
    found = {name: value for name, value in leaves(as_dict(config)) if is_scientific(name)}
    return found | {"data.tokenizer": tokenizers.identity(config.data.tokenizer)}  # a file by content, not by path
