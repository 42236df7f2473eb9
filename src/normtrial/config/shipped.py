"""A norm's options as its file has them, without composing a whole trial."""

from omegaconf import DictConfig, OmegaConf

from normtrial.help import CONF
from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import NORMS


def shipped(name: str) -> NormConfig:
    """The checked options of conf/norm/<name>.yaml.

    >>> shipped("ln").name
    'ln'
    """
    values = OmegaConf.load(CONF / "norm" / f"{name}.yaml")
    assert isinstance(values, DictConfig)
    del values["defaults"]  # the schema, which Hydra would fetch
    config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(NORMS[name].Config), values, {"name": name}))
    assert isinstance(config, NormConfig)
    config.check()
    return config
