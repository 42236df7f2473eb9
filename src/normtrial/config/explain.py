"""Hydra's and OmegaConf's errors in our words: what was given, what is allowed, the closest match."""

import dataclasses
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException, ValidationError
from yaml import YAMLError

from normtrial.config.flags import take_flags
from normtrial.config.schema import GROUPS, Config
from normtrial.config.unknown import NOT_SET_BY_HAND, unknown_key
from normtrial.errors import ConfigError, not_one_of

FULL_ERROR = "HYDRA_FULL_ERROR"  # makes Hydra raise its errors instead of printing them its own way
WANTED = {"Float": "a number", "Integer": "a whole number", "bool": "true or false"}  # OmegaConf's names for types
# Which extra of the project brings the options that a preset in conf/hydra/ begins with.
EXTRAS = {"submitit_local": "slurm", "submitit_slurm": "slurm", "ray": "ray", "optuna": "optuna"}


def explained(main: Callable[[], Any]) -> None:
    """Run `main`; a mistake of the user's is printed in a line or two, without a traceback, and exits 1."""
    os.environ.setdefault(FULL_ERROR, "1")
    try:
        sys.argv[1:] = take_flags(sys.argv[1:])
        refuse_what_hydra_misreads(sys.argv[1:])
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
    except HydraException as error:
        sys.exit(f"normtrial: {explain(error)}")
    except YAMLError as error:
        sys.exit(f"normtrial: a configuration file is not YAML: {' '.join(str(error).split())}")
    except KeyboardInterrupt:
        sys.exit(130)


def explain(error: HydraException) -> str:
    """The message for one of Hydra's errors."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing_option(error)
    if isinstance(error, OverrideParseException):
        return f"cannot read {error.override!r}; values are given as name=value, as in norm.eps=1e-3."
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ConfigError):
        return str(cause)
    if isinstance(cause, ValidationError):
        return _wrong_type(cause)
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        return _unknown_key(cause)
    return _by_its_text(str(error))


def refuse_what_hydra_misreads(arguments: list[str]) -> None:
    """Refuse what Hydra takes without a word: quoted numbers, names of options set by hand; and an empty name."""
    for argument in arguments:
        name, _, value = argument.partition("=")
        if not name:
            raise ConfigError(f"cannot read {argument!r}; values are given as name=value, as in norm.eps=1e-3.")
        group = name.lstrip("+").removesuffix(".name")
        if group in NOT_SET_BY_HAND and name.endswith(".name"):
            raise ConfigError(f"{name.lstrip('+')} comes with the option; choose it by {group}={value}.")
        quoted = len(value) > 2 and value[0] == value[-1] and value[0] in "'\""
        if quoted and _is_number(value[1:-1]):
            raise ConfigError(f"{argument}: {value} is text, not a number. Write {name}={value[1:-1]}.")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _missing_option(error: MissingConfigException) -> str:
    group, _, given = (error.missing_cfg_file or "").rpartition("/")
    if group in ("schema/launcher", "hydra/sweeper") and given in EXTRAS:
        return (
            f"{given} comes with a package that is not installed: python -m pip install -e '.[{EXTRAS[given]}]'."
        )
    if not error.options:
        return f"{error.missing_cfg_file!r} does not exist."
    return str(not_one_of(group or "config", given, error.options))


def _wrong_type(cause: ValidationError) -> str:
    text = str(cause).splitlines()[0]
    match = re.match(r"Value '(.*)' (?:of type '\w+' could not be converted to|is not a valid) (\w+)", text)
    if match:
        return f"{cause.full_key}={match[1]} is not {WANTED.get(match[2], match[2])}."
    if "is not Optional" in text:
        return f"{cause.full_key} cannot be null."
    match = re.search(r"(\w+) is not a subclass of \w+\. value: (.*)", text)
    if match:
        name = cause.full_key or "what is written there"
        return f"{name}: {match[2]!r} was given where several values stand; set one of them, as in norm.eps=1e-3."
    return f"{cause.full_key}: {text}"


def _unknown_key(cause: OmegaConfBaseException) -> str:
    path, _, key = str(cause.full_key).rpartition(".")
    schema = cause.object_type
    fields = [field.name for field in dataclasses.fields(schema)] if dataclasses.is_dataclass(schema) else []
    if not path and key == "experiment":
        return "a recipe changes the whole configuration: its first line must be # @package _global_."
    if key in fields:
        return f"{cause.full_key} cannot be removed; give it a value instead."
    return str(unknown_key(path, key, fields))


def _by_its_text(text: str) -> str:
    """For errors that Hydra tells apart by their sentence only."""
    first = text.splitlines()[0] if text else "the configuration cannot be composed"
    match = re.match(r"Could not override '([^']+)'\.?\s*No match in the defaults list", first)
    if match:
        return str(not_one_of("group", match[1], GROUPS))
    match = re.match(r"Ambiguous value for argument '([^']+)'", first)
    if match:
        return f"{match[1]}: several values make a sweep; write python train.py -m {match[1]}."
    match = re.match(r"Multiple values for (\w+)\.", first)
    if match:
        return f"{match[1]} is chosen already; write {match[1]}=…, without +, to choose another."
    match = re.match(r"Could not (?:override|append to config|append|delete from config)\b[^']*'([^']+)'", first)
    if match:
        return str(not_one_of("key", match[1], Config.__dataclass_fields__))
    return first
