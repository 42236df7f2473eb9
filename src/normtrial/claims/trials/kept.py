"""The runs of a claim that a store still holds, for whoever wants to look at them. Needs no torch."""

from pathlib import Path

from normtrial.claims.claim.load import FOLDER, load_claim
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging import evidence
from normtrial.claims.judging.evidence import Evidence
from normtrial.claims.trials.needs import arm_at
from normtrial.errors import ConfigError
from normtrial.records import RunFolder
from normtrial.report.selection import runs_of_sweep


def is_claim(name: str) -> bool:
    """Whether a claim has this id."""
    return (FOLDER / f"{name}.yaml").is_file()


def named_runs(word: str, store: Path) -> list[RunFolder]:
    """The runs of a claim or of a sweep; what is kept of claims lies beside the store, as sweeps do."""
    return runs_of_claim(word, store, store.parent / "claims") if is_claim(word) else runs_of_sweep(word, store)


def runs_of_claim(name: str, store: Path, kept: Path) -> list[RunFolder]:
    """The folders of all runs that chose its learning rates or are judged, as `claim.py collect` has found them.

    Raises:
        ConfigError: the claim needs no training, or none of its runs is there.
    """
    claim = load_claim(FOLDER / f"{name}.yaml")
    if not isinstance(claim, TrainingClaim):
        raise ConfigError(f"{name} is settled by a measurement, not by runs: python scripts/claim.py show {name}")
    ids = run_ids(claim, evidence.read(kept))
    found = [RunFolder(store / run_id) for run_id in ids if (store / run_id / "config.yaml").exists()]
    if not found:
        raise ConfigError(
            f"{name}: none of its runs is in {store} ({len(ids)} are kept in {kept}); "
            f"python scripts/claim.py run {name}"
        )
    return found


def run_ids(claim: TrainingClaim, found: Evidence) -> list[str]:
    """Of its arms at every rate of its grid, and at the shared or the configuration's own."""
    rates = [*claim.grid, claim.shared, None]
    arms = {arm_at(claim, arm, rate) for arm in claim.arms for rate in rates}
    seeds = {*claim.seeds.select, *claim.seeds.judge}
    return [one.run_id for trial, one in found.items() if trial.arm in arms and trial.seed in seeds]
