"""A configuration from the YAML that a run keeps of it: `config.yaml`, or what a replay bundle holds."""

from dataclasses import fields
from typing import Any, cast

from omegaconf import OmegaConf

from normtrial.config.schema import Config, schemas
from normtrial.errors import ConfigError
from normtrial.records import ADDED


def stored(text: str) -> Config:
    """The configuration that `as_yaml` wrote, without any value from conf/.

    Raises:
        ConfigError: a group has options that no schema of this version has.
    """
    values = cast(
        dict[str, Any], OmegaConf.to_container(OmegaConf.create(text))
    )  # not yaml: it reads 1e-5 as text
    for name, value in ADDED.items():  # options younger than the run
        group, leaf = name.split(".")
        values[group].setdefault(leaf, value)
    return Config(**{key: _part(key, v) if isinstance(v, dict) else v for key, v in values.items()})


def _part(group: str, values: dict[str, Any]) -> Any:
    """An object of the group's schema that has just these options."""
    catalogued = group in ("norm", "placement")  # elsewhere a name is another thing: a subset of a set of the Hub
    named = [schema for name, schema in schemas(group).items() if catalogued and name == values.get("name")]
    for schema in named or schemas(group).values():
        if {field.name for field in fields(schema)} == set(values):
            return schema(**values)
    raise ConfigError(f"{group}: no schema of this version has the options {', '.join(values)}.")
