"""What watching a run costs: a training step with an instrument over the same step without any.

Instruments are probes, forensics, progress bar, W&B and checkpoints, each alone and together. Every side is a real
loop on real text that writes its rows into a temporary folder; the bare side too, without any of them.
"""

import argparse
import io
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from normtrial.assemble import build_model, build_setup, pick_device
from normtrial.benchmark.command import add_overrides, clock_of
from normtrial.benchmark.pairs import Clock, Comparison, paired_ratios
from normtrial.benchmark.results import Results
from normtrial.config import Config, compose
from normtrial.data import catalogue
from normtrial.data.dataset import TextData
from normtrial.probes.catalogue import build_probes
from normtrial.records import RunFolder
from normtrial.training.loop import Loop
from normtrial.training.process.checkpoint import Checkpoints
from normtrial.training.process.memory import keep_freed_memory
from normtrial.training.ranks import Ranks
from normtrial.training.sinks.mirror import WandbSink
from normtrial.training.sinks.progress import ProgressSink
from normtrial.training.sinks.record import RecordSink, Sinks, WandbLogConfig

SAVING = "checkpoint every train.checkpoint_every steps"
Instrument = Callable[[Loop, Path, Config], None]
Turn = Callable[[], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What this command has besides the common ones."""
    add_overrides(parser)
    parser.add_argument("--steps", type=int, default=10, help="of a turn; a multiple of train.log_every")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="instruments whose names begin so")


def run(given: argparse.Namespace) -> Results:
    """Every instrument against none."""
    clock, kind = clock_of(given)
    names = [name for name in INSTRUMENTS if not given.only or name.startswith(tuple(given.only))]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found.append(
                measure(
                    name,
                    Path(folder),
                    num_pairs=given.pairs,
                    num_steps=given.steps,
                    clock=clock,
                    overrides=given.overrides,
                )
            )
            print(f"{name}: {found[-1].median:.3f}", file=sys.stderr, flush=True)
    title = f"Overhead, model=tiny {' '.join(given.overrides)}".rstrip()
    return Results(title, f"{kind} of a step, with over without", found, {"steps": given.steps})


def bare(config: Config, folder: Path, data: TextData | None = None) -> Loop:
    """A loop without instruments, at its first step; on the configured text, or on `data`."""
    device = pick_device(config.device)
    data = data or catalogue.load(config.data, Path(config.cache))
    model = build_model(config, data).to(device).train()
    record, checkpoints = RecordSink(RunFolder(folder)), Checkpoints(folder / "checkpoint", 2)
    setup = build_setup(config, model, data, device, record, Sinks([record]), checkpoints, Ranks(), lambda: False)
    setup.forensics.remember = lambda: None  # type: ignore[method-assign]
    return Loop(setup)


def probing(name: str, loop: Loop, folder: Path, config: Config) -> None:
    """The probes of `probe=<name>`."""
    probe = compose(f"probe={name}").probe
    loop.s.probes = build_probes(probe, loop.s.model.sites(blocks=True))  # type: ignore[operator]


shipped_probes: Instrument = partial(probing, "default")


def forensic(loop: Loop, folder: Path, config: Config) -> None:
    """Buffers are kept in front of every step."""
    del loop.s.forensics.remember  # the class's own again


def barred(loop: Loop, folder: Path, config: Config) -> None:
    """A live bar, on a terminal that nobody sees."""
    loop.s.sinks = loop.s.sinks.plus(_Bar(config.train.steps, "benchmark", stream=_Terminal()))


def mirrored(loop: Loop, folder: Path, config: Config) -> None:
    """W&B in offline mode."""
    log = WandbLogConfig(mode="offline", project="benchmark", group=None, tags=[])
    loop.s.sinks = loop.s.sinks.plus(
        WandbSink(log, run_dir=folder, run_id=folder.name, name=folder.name, flat_config={}, meta={})
    )


def saving(loop: Loop, folder: Path, config: Config) -> None:
    """A checkpoint at the end of every turn."""
    loop.s.train = replace(loop.s.train, checkpoint_every=1)


def watched_by_wandb(loop: Loop, folder: Path, config: Config) -> None:
    """`wandb.watch`: histograms of all gradients on logged steps, and our rows."""
    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
    # Its hooks look for the process's own run, which `mirror.start` does not make.
    run = wandb.init(project="benchmark", mode="offline", dir=str(folder), settings=settings)
    run.watch(loop.s.model, log="gradients", log_freq=config.train.log_every)
    loop.s.sinks = loop.s.sinks.plus(_Rows(run))


INSTRUMENTS: dict[str, list[Instrument]] = {
    "nothing (how far pairs can be trusted)": [],
    "probe=default": [shipped_probes],
    "probe=all": [partial(probing, "all")],
    "forensics": [forensic],
    "progress bar": [barred],
    "W&B offline": [mirrored],
    SAVING: [saving],
    "all as shipped, without checkpoints": [shipped_probes, forensic, barred, mirrored],
    "for comparison: wandb.watch": [watched_by_wandb],
    "for comparison: detect_anomaly": [],
}


def turns(loop: Loop, num_steps: int, stack: ExitStack) -> Turn:
    """A function that takes the loop's next steps."""
    steps = itertools.count(1)
    stack.callback(loop.s.sinks.finish, {"status": "finished", "steps": 0})

    def turn() -> None:
        for step in itertools.islice(steps, num_steps):
            loop._step(step)
            loop.progress.step = step
        if loop.s.train.checkpoint_every == 1:
            loop.save()
        if loop.s.device != "cpu":
            torch.cuda.synchronize()

    return turn


@contextmanager
def sides(name: str, folder: Path, num_steps: int, overrides: list[str]) -> Iterator[tuple[Turn, Turn]]:
    """Turns without and with an instrument."""
    config = compose("train.steps=1000000", "log=file", "probe=none", *overrides)
    keep_freed_memory()
    with ExitStack() as stack:
        loops = [bare(config, folder / f"{INDEX[name]}-{side}") for side in ("without", "with")]
        for instrument in INSTRUMENTS[name]:
            instrument(loops[1], folder / f"{INDEX[name]}-with", config)
        without, with_it = (turns(loop, num_steps, stack) for loop in loops)
        yield without, _anomalies_detected(with_it) if "detect_anomaly" in name else with_it


INDEX = {name: number for number, name in enumerate(INSTRUMENTS)}


def measure(
    name: str, folder: Path, *, num_pairs: int, num_steps: int, clock: Clock, overrides: list[str]
) -> Comparison:
    """An instrument's cost as a share of a step."""
    with sides(name, folder, num_steps, overrides) as (without, with_it):
        found = Comparison(name, paired_ratios(without, with_it, num_pairs, clock))
    return found.spread_over(compose(*overrides).train.checkpoint_every // num_steps) if name == SAVING else found


def _anomalies_detected(turn: Turn) -> Turn:
    def detecting() -> None:
        with torch.autograd.set_detect_anomaly(True):
            turn()

    return detecting


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Bar(ProgressSink):
    def finish(self, summary: dict[str, Any]) -> None:
        """No table at the end."""
        assert self._bar is not None
        self._bar.close()


class _Rows:
    """Rows alone, to a W&B run."""

    def __init__(self, run: Any):
        self._run = run

    def row(self, row: dict[str, Any]) -> None:
        self._run.log(row)

    def event(self, event: dict[str, Any]) -> None:
        pass

    def finish(self, summary: dict[str, Any]) -> None:
        self._run.finish()
