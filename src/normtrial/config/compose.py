"""A configuration from overrides, for scripts: what `python train.py OVERRIDES` would train."""

from hydra import compose as hydra_compose
from hydra import initialize_config_dir

from normtrial.config.load import load
from normtrial.config.schema import Config, register
from normtrial.help import CONF


def compose(*overrides: str) -> Config:
    """Composed from conf/ and checked; raises like the command line does."""
    register()
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        return load(hydra_compose("config", overrides=list(overrides)))
