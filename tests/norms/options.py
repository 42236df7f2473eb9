"""Options as a user gets them: conf/ composed by Hydra, one value at a time changed, checked by the strict load.

    settings("norm=bn", "placement=post", {"norm.eps": 1e-3})

What exists is read off the catalogues and dataclasses: a new norm, placement or option is picked up here.
"""

import re
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from normtrial.config import Config, load, register
from normtrial.errors import ConfigError
from normtrial.norms.base import Norm, NormConfig
from normtrial.norms.catalogue import NORMS, build_norm
from normtrial.placements.catalogue import PLACEMENTS

CONF = Path(__file__).parents[2] / "conf"
NORM_FREE = [name for name, cls in PLACEMENTS.items() if not cls.uses_norms()]  # refuse every norm but none
EVERY_PAIR = [(norm, name) for norm in NORMS for name in PLACEMENTS if name not in NORM_FREE or norm == "none"]
# What most batteries run over: every norm in the two usual placements, and every placement with one norm of each
# kind (over features, over the batch, conditional). All pairs would take minutes.
KINDS = ("ln", "bn", "ada")
PAIRS = [
    (norm, placement)
    for norm, placement in EVERY_PAIR
    if norm in KINDS or placement in ("pre", "post") or placement in NORM_FREE
]
TASKS = {"classification": "data=bbc", "lm": "data=sotu"}
_LOADED: dict[tuple[tuple[str, ...], str], Config] = {}


@cache
def _composed(choices: tuple[str, ...]) -> DictConfig:
    register()
    with initialize_config_dir(version_base="1.3", config_dir=str(CONF)):
        return compose("config", overrides=list(choices))


def settings(*choices: str, values: dict[str, Any] | None = None) -> Config:
    """The options chosen (`norm=bn`), then single values changed (`{"norm.eps": 1e-3}`), as `load` accepts them.

    Hydra composes once for each set of choices, which takes a tenth of a second, and the strict load, 20 ms, is
    done once for each set of values; a configuration is never changed, so that it can be shared.
    """
    known_as = choices, repr(values)
    if known_as not in _LOADED:
        cfg = _composed(choices).copy()
        for key, value in (values or {}).items():
            OmegaConf.update(cfg, key, value)
        _LOADED[known_as] = load(cfg)
    return _LOADED[known_as]


def options(name: str, **changes: Any) -> NormConfig:
    """The options of a norm, from its own file, with changes."""
    return settings(f"norm={name}", values={f"norm.{key}": value for key, value in changes.items()}).norm


def make(name: str, d_model: int, max_len: int = 5, **changes: Any) -> Norm:
    """The norm itself; a few draws are longer than it is told to expect."""
    return build_norm(d_model, options(name, **changes), max_len)


def usual_norm(placement: str) -> str:
    """LayerNorm, where the placement has norms."""
    return "none" if placement in NORM_FREE else "ln"


def chosen(group: str, file: str) -> tuple[str, ...]:
    """The choice of an option file, with what it cannot do without."""
    return (f"{group}={file}", f"norm={usual_norm(file)}") if group == "placement" else (f"{group}={file}",)


def has(name: str, option: str) -> bool:
    """True where the norm has that option."""
    return option in leaves(NORMS[name].Config)


def leaves(schema: Any) -> list[str]:
    """The options of a group's schema; `name` is no option but says which schema it is."""
    return [field.name for field in fields(schema) if field.name != "name"]


def other_values(key: str, value: Any, *choices: str, values: dict[str, Any] | None = None) -> list[Any]:
    """Values that the option could have instead: what the strict load does not refuse.

    The names that a text option may have are taken from the error that a wrong one gives.
    """
    if isinstance(value, bool):
        wanted: list[Any] = [not value]
    elif isinstance(value, int):
        wanted = [2 * value, value + 1]
    elif isinstance(value, float):
        wanted = [2 * value + 0.1, value / 2, value * 100]
    else:
        try:
            settings(*choices, values={**(values or {}), key: "?"})
        except ConfigError as error:
            found = re.search(r"Allowed: (.*)\.$", str(error))
            assert found, f"{key}: the error for a wrong name does not list the right ones: {error}"
            wanted = [name for name in found[1].split(", ") if name != value]
        else:
            raise AssertionError(f"{key}='?' was accepted: give {key} a check against its allowed names.")
    return [other for other in wanted if _allowed(key, other, *choices, values=values)]


def _allowed(key: str, value: Any, *choices: str, values: dict[str, Any] | None) -> bool:
    try:
        settings(*choices, values={**(values or {}), key: value})
    except ConfigError:
        return False
    return True


def variants() -> list[tuple[str, dict[str, Any]]]:
    """Every norm as its file has it, and with each switch (an option that is no number) thrown by itself."""
    found: list[tuple[str, dict[str, Any]]] = []
    for name in NORMS:
        found.append((name, {}))
        config = options(name)
        for leaf in leaves(config):
            value = getattr(config, leaf)
            if isinstance(value, bool | str):
                others = other_values(f"norm.{leaf}", value, f"norm={name}")
                found += [(name, {leaf: other}) for other in others]
    return found


def label(value: Any) -> str:
    """A readable test id for changed options."""
    if isinstance(value, dict):
        return ",".join(f"{key}={changed}" for key, changed in value.items()) or "as_shipped"
    return str(value)


def evaluates_with_batch(config: NormConfig) -> bool:
    """True where evaluation, too, takes the batch's statistics."""
    return NORMS[config.name].evaluates_with_batch(config)


def counts_padding(config: NormConfig) -> bool:
    """True where padded positions enter the statistics, by their content or by their number alone."""
    return NORMS[config.name].sees_padding(config)


def reads_padding(config: NormConfig) -> bool:
    """True where the content of padded positions enters the statistics."""
    return counts_padding(config) and getattr(config, "padding", "include") == "include"


def legal(name: str, task: str) -> bool:
    """True where the norm as shipped may be trained on the task."""
    return _allowed("seed", 0, f"norm={name}", TASKS[task], values=None)
