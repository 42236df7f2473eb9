"""The error for a key that does not exist, whatever it was prefixed with."""

from collections.abc import Iterable

from normtrial.errors import ConfigError, closest
from normtrial.norms.catalogue import NORMS
from normtrial.placements.catalogue import PLACEMENTS

CHOICES = {"norm": NORMS, "placement": PLACEMENTS}  # groups whose options have different keys
NOT_SET_BY_HAND = {"norm": "name", "placement": "name"}  # come with the option


def unknown_key(path: str, key: str, fields: Iterable[str]) -> ConfigError:
    """What was given, the closest key beside it, the choices that have it, and all that are allowed.

    >>> print(unknown_key("norm", "epss", ["name", "eps", "affine"]))
    key 'norm.epss' does not exist for this choice; did you mean 'norm.eps'? Allowed: norm.affine, norm.eps.
    """
    prefix = f"{path}." if path else ""
    allowed = sorted(field for field in fields if field != NOT_SET_BY_HAND.get(path))
    near = closest(key, allowed)
    owners = [name for name, cls in CHOICES.get(path, {}).items() if key in cls.Config.__dataclass_fields__]
    where = " for this choice" if path else ""
    if owners:
        hint = f"; it belongs to {path}={', '.join(owners)}."
    else:
        hint = f"; did you mean {prefix + near!r}?" if near else "."
    names = ", ".join(f"{prefix}{field}" for field in allowed)
    return ConfigError(f"key {prefix + key!r} does not exist{where}{hint} Allowed: {names or 'none'}.")
