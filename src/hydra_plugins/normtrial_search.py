"""Adaptive search, arm by arm: hydra-optuna-sweeper proposes values, normtrial's sweeper trains the runs."""

import copy
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hydra.core.utils import JobReturn, JobStatus
from rich.console import Console
from rich.table import Table

from hydra_plugins.normtrial_sweeper import NormtrialSweeper

if TYPE_CHECKING:
    from normtrial.report.outcome import Outcome
    from normtrial.sweep import Entry


class ArmSearch(NormtrialSweeper):
    """A study an arm, each with `n_trials` runs; lists on the command line and `sweep.arms` make the arms."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_batch_size=None)
        self.options = options

    def sweep(self, arguments: list[str]) -> None:
        """Search for each arm in turn, and print the best of each."""
        from normtrial.config.multirun import jobs_of

        assert self.config is not None and self.hydra_context is not None
        searched = dict(self.options["params"] or {})
        arms = jobs_of(arguments, list(self.config.sweep.arms), self.hydra_context.config_loader)
        planned = self.plan(arms)
        self._refuse(arms, searched, planned)
        print(f"search of {len(arms)} arm(s), {self.options['n_trials']} runs each: {self.folder}", flush=True)
        table = Table("arm", *searched, "best", "runs", box=None, pad_edge=False)
        for arm, example in zip(arms, planned, strict=True):
            study = Study(self, arm, example)
            best, value = study.best()
            found = {one.split("=")[0]: one.split("=")[1] for one in best.overrides}
            values = [f"{float(found[name]):.3g}" for name in searched]
            telling = " ".join(one for one in arm if any(one not in other for other in arms))
            table.add_row(
                telling or example.name, *values, f"{study.outcome.metric} {value:.4g}", str(len(study.entries))
            )
        Console().print(table)

    def _refuse(self, arms: list[list[str]], searched: dict[str, Any], planned: "Sequence[Entry]") -> None:
        from normtrial.errors import require

        require(
            not planned[0].config.sweep.dry_run,
            "sweep.dry_run=true has no plan for a search: each of its runs depends on the ones before.",
        )
        for name in searched:
            fixed = [one for arm in arms for one in arm if one.lstrip("+").split("=")[0] == name]
            require(
                not fixed, f"{' '.join(fixed[:1])} leaves nothing to search for; {name} is what the search varies."
            )


class Study:
    """The search for one arm; stands in the place of Hydra's launcher, which would know no finished runs."""

    def __init__(self, sweeper: ArmSearch, arm: list[str], example: "Entry"):
        import optuna  # pyright: ignore[reportMissingImports]
        from hydra_plugins.hydra_optuna_sweeper._impl import OptunaSweeperImpl  # pyright: ignore[reportMissingImports]

        from normtrial.report.outcome import outcome_for

        optuna.logging.set_verbosity(logging.WARNING)
        self.sweeper = sweeper
        self.entries: list[Entry] = []
        self.outcome: Outcome = outcome_for(None, example.config.data.kind)
        direction = {"max": "maximize", "min": "minimize"}[self.outcome.direction]
        options = {
            **copy.deepcopy(sweeper.options),
            "direction": direction,
        }  # every arm begins with the same draws
        search = OptunaSweeperImpl(**options)
        search.config, search.hydra_context = sweeper.config, sweeper.hydra_context
        search.launcher = cast(Any, self)
        search.sweep(arm)
        (Path(sweeper.folder) / "optimization_results.yaml").unlink()  # of this arm only: the table has all

    def launch(self, jobs: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """Train what is not yet, and give back what each was worth."""
        from normtrial import sweep

        planned = self.sweeper.plan([list(job) for job in jobs])
        self.sweeper.train(sweep.distinct(planned))
        self.entries += planned
        return [self._returned(entry) for entry in planned]

    def best(self) -> "tuple[Entry, float]":
        """The best of all runs, and its outcome."""
        values = {id(entry): self._value(entry) for entry in self.entries}
        best = min(self.entries, key=lambda entry: self.outcome.rank(values[id(entry)]))
        return best, values[id(best)]

    def _value(self, entry: "Entry") -> float:
        summary = entry.folder.read_summary()
        assert summary is not None
        finished = summary["status"] == "finished"
        return float(summary["metrics"][self.outcome.metric]) if finished else self.outcome.worst

    def _returned(self, entry: "Entry") -> JobReturn:
        if entry.status in ("finished", "diverged"):
            return JobReturn(status=JobStatus.COMPLETED, _return_value=self._value(entry))
        error = RuntimeError(f"{entry.name} {entry.status}: {entry.error}")
        return JobReturn(overrides=entry.overrides, status=JobStatus.FAILED, _return_value=error)
