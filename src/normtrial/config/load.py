"""From Hydra's DictConfig to checked dataclasses: every mistake is found here, before any data is read."""

import copy
import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from normtrial.config.effects import check_shifts, refuse_choices_without_effect
from normtrial.config.numerics import warn_of_lost_eps
from normtrial.config.schema import Config
from normtrial.config.unknown import unknown_key
from normtrial.errors import ConfigError, not_one_of, require
from normtrial.norms.adaptive import AdaptiveConfig
from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import norm_class
from normtrial.norms.sequence import SequenceConfig
from normtrial.placements.catalogue import placement_class
from normtrial.training.accumulate import check_shares

DEVICES = ("auto", "cpu", "cuda")


def load(cfg: DictConfig) -> Config:
    """Check and convert.

    Raises:
        ConfigError: an unknown key (also behind `+`), a missing value, a value out of range, or two choices
            that cannot go together.
    """
    cfg = without_hydra(cfg)
    refuse_unknown_keys(cfg)
    try:
        config = OmegaConf.to_object(cfg)
    except MissingMandatoryValue as error:
        raise ConfigError(f"{error.full_key} has no value; give it on the command line or in a recipe.") from error
    except OmegaConfBaseException as error:
        raise ConfigError(str(error).splitlines()[0]) from error
    assert isinstance(config, Config)
    for name, value in _leaves(dataclasses.asdict(config)):
        require(not (isinstance(value, float) and math.isnan(value)), f"{name} is not a number (nan).")
    for part in dataclasses.fields(config):
        check = getattr(getattr(config, part.name), "check", None)
        if check is not None:
            check()
    _check_root(config)
    _check_pairs(config)
    refuse_choices_without_effect(config)
    check_shifts(config)
    warn_of_lost_eps(config)
    return config


def without_hydra(cfg: DictConfig) -> DictConfig:
    """The configuration without Hydra's own part, which a sweep composes with it."""
    if "hydra" not in cfg:
        return cfg
    cfg = copy.deepcopy(cfg)
    with open_dict(cfg):
        del cfg["hydra"]
    return cfg


def refuse_unknown_keys(cfg: DictConfig, path: str = "") -> None:
    """Raise at the first key that its schema does not have: `+key=value` would slip in otherwise."""
    schema = OmegaConf.get_type(cfg)
    fields = [f.name for f in dataclasses.fields(schema)] if dataclasses.is_dataclass(schema) else None
    for key in cfg:
        name = f"{path}{key}"
        if fields is not None and key not in fields:
            raise unknown_key(path.rstrip("."), str(key), fields)
        if OmegaConf.is_missing(cfg, key):
            continue
        value = cfg._get_node(key)
        if isinstance(value, DictConfig) and not value._is_none():
            refuse_unknown_keys(value, f"{name}.")


def _leaves(tree: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _check_root(config: Config) -> None:
    if config.device not in DEVICES:
        raise not_one_of("device", config.device, DEVICES)
    require(bool(config.store.strip() and config.cache.strip()), "store and cache are folders; one is empty.")
    require(0 <= config.seed < 2**31, f"seed={config.seed} must lie between 0 and 2^31 - 1.")
    require(
        config.optim.warmup_steps is None or config.optim.warmup_steps <= config.train.steps,
        f"optim.warmup_steps={config.optim.warmup_steps} is longer than train.steps={config.train.steps}: "
        f"the rate would never arrive at optim.lr. Lower the warm-up; null is a tenth of the steps.",
    )


def _check_pairs(config: Config) -> None:
    """Refuse what each part allows alone but not together."""
    norm, data = config.norm, config.data
    hooked = config.probe.needing_hooks()
    require(
        not (config.compile and hooked),
        f"probe.names={hooked} read forward passes, which compile=true leaves no trace of, and a step without it "
        "would end in other last digits. Set compile=false, or choose probe=default (or none), which read none.",
    )
    cls = norm_class(norm)
    for group, part, chosen in (
        ("norm", norm, cls),
        ("placement", config.placement, placement_class(config.placement)),
    ):
        require(
            type(part) is chosen.Config,
            f"{group}.name={part.name} stands with the options of another {group}. Leave the name to the option: "
            f"override /{group}: {part.name} in a recipe's defaults.",
        )
    _check_norms_beside_the_placement(config)
    if data.kind == "lm" and _shows_the_future(norm):
        raise ConfigError(
            f"norm={norm.name} with these options looks at other positions, so a causal language model "
            f"(data={data.source}) would see the future. {_way_out(norm)}"
        )
    num_micro = config.train.accumulate
    check_shares(data.batch_size, num_micro)
    require(
        not (cls.mixes_examples(norm) and data.batch_size // num_micro < 2),
        f"norm={norm.name} takes its statistics over the batch, and data.batch_size={data.batch_size} leaves it "
        f"a single example{f' with train.accumulate={num_micro}' if num_micro > 1 else ''} (and, for a one-word "
        "text, a single token, whose variance is 0). "
        f"Set data.batch_size to {2 * num_micro} or more, or choose norm=ln.",
    )
    require(
        not (config.compile and config.model.checkpoint_activations),
        "compile=true decides itself which activations are kept; leave model.checkpoint_activations=false.",
    )


def _check_norms_beside_the_placement(config: Config) -> None:
    """Refuse a norm of the model's where the placement has one: it would stand there twice, or be dead."""
    placement, model = placement_class(config.placement), config.model
    require(
        not (model.embed_norm and placement.embed_norm),
        f"placement={config.placement.name} has a norm after the embedding; leave model.embed_norm=false.",
    )
    require(
        not (model.qk_norm != "none" and "attention.q_norm" in placement.norm_sites()),
        f"placement={config.placement.name} has norms on queries and keys; leave model.qk_norm=none.",
    )
    inner = [site for site in placement.norm_sites() if site.startswith("attention.")]
    require(
        model.mixer == "attention" or not inner,
        f"placement={config.placement.name} has norms within attention, which model.mixer={model.mixer} has not. "
        "Choose another placement, as placement=pre.",
    )


def _shows_the_future(norm: NormConfig) -> bool:
    """In evaluation, too; and nobody asked for it."""
    cls = norm_class(norm)
    allowed = isinstance(norm, SequenceConfig) and norm.allow_leak
    return cls.mixes_positions(norm) and not cls.has_running_statistics(norm) and not allowed


def _way_out(norm: NormConfig) -> str:
    if isinstance(norm, AdaptiveConfig):
        return "Set norm.condition=token."
    choose = "Choose a norm that reduces D only: ln, rms, ada"
    if isinstance(norm, SequenceConfig):
        return f"{choose}; or set norm.allow_leak=true to measure what the leak is worth."
    return f"{choose}."
