"""Registration: a hash over everything that a verdict depends on, so that no prediction changes unnoticed."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from normtrial.claims.claim.model import Claim
from normtrial.claims.claim.training import TrainingClaim

RECIPES = Path(__file__).parents[4] / "conf" / "experiment"

FREE = ("registered", "deviations", "remark", "against")  # what may change afterwards


def fingerprint(claim: Claim) -> str:
    """Twelve hex digits over all but what is free to change."""
    content = {name: value for name, value in asdict(claim).items() if name not in FREE}
    if isinstance(claim, TrainingClaim):
        content["recipes"] = recipes(claim)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


def recipes(claim: TrainingClaim) -> dict[str, Any]:
    """The values of every conf/experiment/ file that its arms name; comments may change."""
    overrides = (*claim.recipe, *(override for arm in claim.arms.values() for override in arm))
    names = {override.split("=", 1)[1] for override in overrides if override.startswith("experiment=")}
    return {name: OmegaConf.to_container(OmegaConf.load(RECIPES / f"{name}.yaml")) for name in sorted(names)}


def complaint(claim: Claim) -> str | None:
    """What is wrong with a claim's registration; None where it stands as registered, or says why not."""
    if claim.registered is None:
        return f"{claim.id} is not registered; python scripts/claim.py register {claim.id}"
    last, now = claim.registered, fingerprint(claim)
    for deviation in claim.deviations:
        if not deviation.why.strip():
            return f"{claim.id}: the deviation of {deviation.date} does not say why."
        last = deviation
    if last.hash == now:
        return None
    return (
        f"{claim.id} was changed after {last.date} (hash {last.hash}, now {now}). Undo the change, or add to "
        f"deviations: {{date: …, why: …, hash: {now}}}"
    )


def complaints(claims: Iterable[Claim]) -> list[str]:
    """Of several claims."""
    return [text for claim in claims if (text := complaint(claim)) is not None]


def register(claim: Claim, path: Path, date: str) -> bool:
    """Write date and hash into a claim's file; False where it has been registered before."""
    if claim.registered is not None:
        return False
    text = path.read_text(encoding="utf-8").rstrip("\n")
    path.write_text(f'{text}\nregistered: {{date: "{date}", hash: "{fingerprint(claim)}"}}\n', encoding="utf-8")
    return True
