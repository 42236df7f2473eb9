"""The leaves of a run's config.yaml, read fast enough for thousands of runs."""

import re
from functools import lru_cache
from typing import Any, cast

from omegaconf import OmegaConf

from normtrial.records import ADDED, RunFolder
from normtrial.training.sinks.record import leaves

Leaves = tuple[tuple[str, Any], ...]


def leaves_of(text: str) -> dict[str, Any]:
    """Every value by its dotted name.

    Runs of a store differ in little: each group of options is parsed once for all runs that have it as it stands.

    >>> leaves_of("norm:\\n  name: bn\\n  eps: 1e-05\\nseed: 0\\n")
    {'norm.name': 'bn', 'norm.eps': 1e-05, 'seed': 0}
    """
    groups = re.split(r"(?m)^(?=\w+:)", text)  # in front of every key that is not indented
    return {name: value for group in groups for name, value in _leaves_of_group(group)}


def config_of(folder: RunFolder) -> dict[str, Any]:
    """What a run was made with; options that are younger than it have the value that it had."""
    config = leaves_of(folder.config_text())
    return config | {name: value for name, value in ADDED.items() if name not in config}


@lru_cache(maxsize=100_000)
def _leaves_of_group(text: str) -> Leaves:
    # Not yaml.safe_load: YAML 1.1 reads 1e-05 as a string.
    return tuple(leaves(cast(dict[str, Any], OmegaConf.to_container(OmegaConf.create(text)))))
