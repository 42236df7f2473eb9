"""Hydra's and OmegaConf's errors in our words: what was given, what is allowed, the closest match."""

import os
import re
import sys
from collections.abc import Callable
from typing import Any

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException, ValidationError

from normtrial.config.schema import GROUPS
from normtrial.errors import ConfigError, closest, not_one_of

FULL_ERROR = "HYDRA_FULL_ERROR"  # makes Hydra raise its errors instead of printing them its own way


def explained(main: Callable[[], Any]) -> None:
    """Run `main`; a mistake of the user's is printed in a line or two, without a traceback, and exits 1."""
    os.environ.setdefault(FULL_ERROR, "1")
    try:
        refuse_quoted_numbers(sys.argv[1:])
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
    except HydraException as error:
        sys.exit(f"normtrial: {explain(error)}")
    except KeyboardInterrupt:
        sys.exit(130)


def explain(error: HydraException) -> str:
    """The message for one of Hydra's errors."""
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        return _missing_option(error)
    if isinstance(error, OverrideParseException):
        return f"cannot read {error.override!r} on the command line: {error.message.splitlines()[0]}"
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ConfigError):
        return str(cause)
    if isinstance(cause, ValidationError):
        return _wrong_type(cause)
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        return _unknown_key(cause)
    match = re.match(r"Could not override '([^']+)'\.?\s*No match in the defaults list", str(error))
    if match:
        return str(not_one_of("group", match[1], GROUPS))
    return _unknown_root_key(str(error))


def refuse_quoted_numbers(arguments: list[str]) -> None:
    """A quoted number is text to Hydra and silently becomes a number again in the schema; say so instead."""
    for argument in arguments:
        name, _, value = argument.partition("=")
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
    return str(not_one_of(group or "config", given, error.options or ()))


def _wrong_type(cause: ValidationError) -> str:
    expected = getattr(cause.ref_type, "__name__", str(cause.ref_type))
    return f"{cause.full_key}: {str(cause).splitlines()[0]}" + (
        f" (expected {expected})" if expected not in ("None", "Any") else ""
    )


def _unknown_key(cause: OmegaConfBaseException) -> str:
    path, _, _ = str(cause.full_key).rpartition(".")
    fields = getattr(cause.object_type, "__dataclass_fields__", {})
    prefix = f"{path}." if path else ""
    where = " for this choice" if path else ""
    return str(not_one_of("key", cause.full_key, [f"{prefix}{field}" for field in fields], where))


def _unknown_root_key(text: str) -> str:
    match = re.match(r"Could not (?:override|append) '([^']+)'", text)
    if not match:
        return text.splitlines()[0] if text else "the configuration cannot be composed"
    near = closest(match[1], GROUPS)
    return text.splitlines()[0] + (f" Did you mean {near!r}?" if near else "")
