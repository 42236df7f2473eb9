"""Runs from code instead of a command line, the same way."""

from collections.abc import Sequence
from pathlib import Path

from normtrial import run
from normtrial.config.multirun import sweeper_of
from normtrial.sweep.entry import Entry
from normtrial.sweep.plan import distinct


def run_arms(
    arms: Sequence[Sequence[str]],
    *,
    common: Sequence[str] = (),
    launcher: str = "joblib",
    folder: Path | str | None = None,
    on_failure: str = "continue",
) -> list[Entry]:
    """Train what `python train.py -m` would train, given every run's overrides; what is finished is not.

    Planned, launched, resumed, waited for and shown as any sweep; only the comparison at the end is left to the
    caller. All are composed and checked before the first begins.

    Args:
        arms: the overrides of each run, `["norm=bn", "norm.eps=1e-3", "seed=1"]`; no lists to expand.
        common: overrides for all of them, also of Hydra's own, as `hydra.launcher.n_jobs=1`.
        launcher: an option of conf/hydra/launcher, or `basic`.
        folder: of what jobs leave behind; by default one below results/sweeps, by the time.
        on_failure: `continue`, or `stop` at the first crash.

    Returns:
        An entry for each of `arms`, in their order (the same object where two are the same run). Its `status` is
        `finished` or `diverged`, with the record in `entry.folder`; `crashed` or `killed`, with `entry.error`;
        or `new`, where a failure stopped the sweep before its turn.

    Raises:
        ConfigError: any of the runs cannot be trained as it is written.
        KeyboardInterrupt: it was stopped; the same call goes on.
    """
    options = [f"hydra/launcher={launcher}", f"sweep.on_failure={on_failure}", *common]
    if folder is not None:
        options.append(f"hydra.sweep.dir={folder}")
    with sweeper_of(run.main, options) as sweeper:
        shared = list(sweeper.config.hydra.overrides.task)
        planned = sweeper.plan([*shared, *arm] for arm in arms)
        sweeper.train(distinct(planned))
    return planned
