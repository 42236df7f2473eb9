"""The configuration: schema, strict load, and errors that say what was meant. The only wing that knows Hydra.

config.register()                  # once, before Hydra composes
settings = config.load(cfg)        # DictConfig -> dataclasses, checked; no DictConfig after this
"""

from normtrial.config.compose import compose
from normtrial.config.effects import refuse_options_of_sweeps
from normtrial.config.explain import explained
from normtrial.config.flags import SHOW_WIRING, was_given
from normtrial.config.job import Job, current_job
from normtrial.config.load import load
from normtrial.config.schema import Config, register
from normtrial.config.serialize import as_dict, as_yaml, scientific
from normtrial.config.stored import stored

__all__ = [
    "SHOW_WIRING",
    "Config",
    "Job",
    "as_dict",
    "as_yaml",
    "compose",
    "current_job",
    "explained",
    "load",
    "refuse_options_of_sweeps",
    "register",
    "scientific",
    "stored",
    "was_given",
]
