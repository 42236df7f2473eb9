"""Claims and runs that are made up, with known truth."""

from pathlib import Path
from typing import Any

from normtrial.claims.claim.load import load_claim
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging.evidence import Evidence, RunRecord
from normtrial.claims.trials.needs import arm_at, metrics_of

CLAIM = """
id: T1
kind: training
statement: BatchNorm is worse.
source: {document: made up, section: none, reported: 7 points}
recipe: [model=tiny, data=reviews_zh]
arms:
  ln: [norm=ln, placement=pre]
  bn: [norm=bn, placement=pre]
  none: [norm=none, placement=none]
grid: []
select: null
seeds: {select: [100], judge: [0, 1, 2, 3, 4, 5, 6, 7]}
outcome: {metric: test/accuracy, read: final}
prediction: {direction: down, size: 0.07, smallest: 0.01}
readings:
  pre: {says: as it stands, contrast: {bn: 1, ln: -1}}
primary: pre
gates:
  task: {metric: test/accuracy, baseline: ln, control: none, margin: 0.03}
rule: paired
family: made
"""


def written(folder: Path, text: str = CLAIM, name: str = "T1") -> Path:
    """The claim's file."""
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("id: T1", f"id: {name}"), encoding="utf-8")
    return path


def claim(folder: Path, text: str = CLAIM, name: str = "T1") -> TrainingClaim:
    """The claim, loaded."""
    found = load_claim(written(folder, text, name))
    assert isinstance(found, TrainingClaim)
    return found


def run(arm: str, seed: int, **changes: Any) -> RunRecord:
    """A finished run of a classification with two classes."""
    values: dict[str, Any] = {
        "run_id": f"{abs(hash((arm, seed))):012x}"[:12],
        "status": "finished",
        "steps": 200,
        "planned": 200,
        "seconds": 60.0,
        "code_hash": "0" * 12,
        "trivial": {"loss_nats": 0.693, "accuracy": 0.5},
        "series": {},
        "looked_for": ["test/accuracy", "val/accuracy", "val/loss_nats"],
    }
    return RunRecord(arm=arm, seed=seed, **values | changes)


def evidence(of: TrainingClaim, values: dict[str, list[float]], metric: str = "test/accuracy") -> Evidence:
    """Runs of arms whose final value is given by seed."""
    records = [
        run(arm_at(of, arm, None), seed, series={metric: [(200, value)]}, looked_for=metrics_of([of]))
        for arm, each in values.items()
        for seed, value in zip(of.seeds.judge, each, strict=True)
    ]
    return {record.trial: record for record in records}
