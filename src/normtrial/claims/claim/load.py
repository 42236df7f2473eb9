"""Claims from their files, strictly: an unknown key is an error with the closest match."""

import re
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import ConfigKeyError, MissingMandatoryValue, OmegaConfBaseException

from normtrial.claims.claim.model import Claim, CostClaim, ExactClaim
from normtrial.claims.claim.training import TrainingClaim
from normtrial.errors import ConfigError, not_one_of, require

FOLDER = Path(__file__).parents[4] / "experiments"
KINDS: dict[str, type[Claim]] = {"exact": ExactClaim, "training": TrainingClaim, "cost": CostClaim}


def load_claims(folder: Path = FOLDER) -> dict[str, Claim]:
    """Every claim by id, in the order of their numbers."""
    paths = sorted(folder.glob("*.yaml"), key=lambda path: in_order(path.stem))
    return {path.stem: load_claim(path) for path in paths}


def in_order(name: str) -> tuple[str, int]:
    """A sorting key: C9 before C10.

    >>> sorted(["C10", "C9", "L1"], key=in_order)
    ['C9', 'C10', 'L1']
    """
    letters, digits = re.fullmatch(r"(\D*)(\d*).*", name, re.DOTALL).groups()  # type: ignore[union-attr]
    return letters, int(digits or 0)


def load_claim(path: Path) -> Claim:
    """One claim, checked.

    Raises:
        ConfigError: an unknown key, a missing or impossible value, or an id that is not the file's name.
    """
    try:
        given: Any = OmegaConf.load(path)
    except Exception as error:  # of the YAML parser, whose classes are its own business
        raise ConfigError(f"{path}: {error}") from error
    kind = given.get("kind") if OmegaConf.is_dict(given) else None
    if kind not in KINDS:
        raise not_one_of(f"{path.name}: kind", kind, KINDS)
    try:
        claim = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(KINDS[kind]), given))
    except ConfigKeyError as error:
        raise unknown_key(path, error) from error
    except MissingMandatoryValue as error:
        raise ConfigError(f"{path.name}: {error.full_key} has no value.") from error
    except OmegaConfBaseException as error:
        raise ConfigError(f"{path.name}: {error.full_key}: {str(error).splitlines()[0]}") from error
    assert isinstance(claim, Claim)
    require(claim.id == path.stem, f"{path.name}: id={claim.id} is not the file's name.")
    claim.check()
    return claim


def unknown_key(path: Path, error: ConfigKeyError) -> ConfigError:
    """What was given, what is allowed there, and the closest match."""
    owner = error.object_type
    names = [field.name for field in fields(owner)] if owner in _dataclasses() else []  # type: ignore[arg-type]
    return not_one_of(f"{path.name}: key", str(error.full_key), names)


def _dataclasses() -> set[type]:
    from normtrial.claims.claim import model, training

    return {item for module in (model, training) for item in vars(module).values() if isinstance(item, type)}


def chosen(claims: dict[str, Claim], ids: Iterable[str], kind: str | None = None) -> list[Claim]:
    """The named claims, or all; of one kind where asked for."""
    ids = list(ids)
    if kind is not None and kind not in KINDS:
        raise not_one_of("kind", kind, KINDS)
    for name in ids:
        if name != "all" and name not in claims:
            raise not_one_of("claim", name, claims)
    wanted = claims if not ids or "all" in ids else ids
    return [claim for name, claim in claims.items() if name in wanted and kind in (None, claim.kind)]
