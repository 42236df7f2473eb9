"""What claims read of finished runs, from the store into results/claims/runs.parquet."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from normtrial import identity
from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging import evidence
from normtrial.claims.judging.evidence import Evidence, RunRecord
from normtrial.claims.judging.rates import Missing, best_rate
from normtrial.claims.trials import needs
from normtrial.claims.trials.needs import Trial
from normtrial.config import Config, compose
from normtrial.data import catalogue
from normtrial.records import RunFolder
from normtrial.report.stored import config_of

ENDED = ("finished", "diverged")


class Resolver:
    """Run ids of trials; each arm is composed once, and each text read once.

    Args:
        extra: overrides that are no part of a trial, as `store=…`; Hydra's own are passed over.
    """

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self._extra = [override for override in extra if not override.startswith("hydra")]
        self._configs: dict[str, Config] = {}
        self._texts: dict[str, str] = {}

    def config(self, trial: Trial) -> Config:
        """The trial's configuration."""
        if trial.arm not in self._configs:
            self._configs[trial.arm] = compose(*trial.arm.split(" "), *self._extra)
        return replace(self._configs[trial.arm], seed=trial.seed)

    def folder(self, trial: Trial) -> RunFolder:
        """Where its run is, or will be."""
        config = self.config(trial)
        if repr(config.data) not in self._texts:
            self._texts[repr(config.data)] = catalogue.fingerprint(config.data, Path(config.cache))
        return identity.folder_of(config, self._texts[repr(config.data)])


def planned(
    claims: Iterable[TrainingClaim], found: Evidence, num_seeds: int | None = None
) -> tuple[dict[Trial, set[str]], set[Trial]]:
    """The trials that can be named by now, with the metrics that are read of them; and those that want a learning
    rate first, named without one.
    """
    trials: dict[Trial, set[str]] = {}
    later: set[Trial] = set()
    for claim in claims:
        for trial in needs.selecting(claim):
            trials.setdefault(trial, set()).add(str(claim.select))
        arms = needs.arms_at(claim, "best") if claim.grid and not needs.reads_whole_grid(claim) else []
        best = {}
        for arm in arms:
            try:
                best[arm] = best_rate(claim, arm, found)
            except Missing:
                bare = needs.arm_at(claim, arm, None)
                later |= {Trial(bare, seed) for seed in needs.judging_seeds(claim, num_seeds)}
        for trial in needs.judging(claim, best, num_seeds):
            trials.setdefault(trial, set()).update(needs.metrics_of([claim]))
    return trials, later


def collect(
    claims: list[TrainingClaim],
    every: list[TrainingClaim],
    folder: Path,
    resolver: Resolver,
    num_seeds: int | None = None,
) -> Evidence:
    """Bring the kept numbers of these claims up to date with the store; those of the others stay as they are.

    A kept run of another configuration than today's is dropped, and so is one that no claim needs any more.
    """
    found, names, looked_at = evidence.read(folder), needs.metrics_of(every), set[Trial]()
    while True:
        trials, _ = planned(claims, found, num_seeds)
        fresh = [trial for trial in trials if trial not in looked_at]
        if not fresh:
            break
        looked_at |= set(fresh)
        kept = {trial: found.pop(trial) for trial in fresh if trial in found}
        for trial in fresh:
            run = resolver.folder(trial)
            summary = run.read_summary()
            if summary is not None and summary["status"] in ENDED and was_watched(run, resolver.config(trial)):
                found[trial] = record_of(trial, run, summary, names, resolver.config(trial).train.steps)
            elif trial in kept and kept[trial].run_id == run.run_id:
                found[trial] = kept[trial]
    needed, _ = planned(every, found, num_seeds)
    evidence.write([found[trial] for trial in needed if trial in found], folder)
    return evidence.read(folder)


def was_watched(run: RunFolder, config: Config) -> bool:
    """Whether a run had a trial's probes, which are no part of its id: another claim may have made it without."""
    return set(config.probe.names) <= set(config_of(run)["probe.names"])


def record_of(
    trial: Trial, run: RunFolder, summary: dict[str, Any], names: list[str], planned_steps: int
) -> RunRecord:
    """What is kept of a run: the metrics that claims read, at every step at which they were logged."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in run.read_metrics():
        for name in names:
            value = row.get(name)
            if isinstance(value, int | float) and math.isfinite(value):
                series.setdefault(name, []).append((row["step"], float(value)))
    for name in names:
        if name.startswith("events/"):  # rows tell of an event from its first time on
            series.setdefault(name, [(summary["steps"], 0.0)])
    return RunRecord(
        arm=trial.arm,
        seed=trial.seed,
        run_id=run.run_id,
        status=summary["status"],
        steps=summary["steps"],
        planned=planned_steps,
        seconds=round(summary["seconds"], 1),
        code_hash=run.read_meta()["code_hash"],
        trivial=summary["trivial"],
        series=series,
        looked_for=names,
    )
