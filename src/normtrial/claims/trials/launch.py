"""From trials to finished runs, as one sweep of the project's own: any launcher, finished runs skipped."""

from collections.abc import Iterable

from normtrial.claims.trials.needs import Trial
from normtrial.sweep import run_arms

LAUNCHER = "hydra/launcher="


def launch(trials: Iterable[Trial], extra: Iterable[str] = ()) -> None:
    """Train them all; a crash is told by the sweep and leaves its trial open.

    Args:
        trials: distinct ones; seeds of an arm need not stand together.
        extra: overrides of every run, `hydra/launcher=…` too.
    """
    options, launcher = ["log=file"], "joblib"
    for override in extra:
        if override.startswith(LAUNCHER):
            launcher = override.removeprefix(LAUNCHER)
        else:
            options.append(override)
    run_arms([trial.overrides() for trial in trials], common=options, launcher=launcher)
