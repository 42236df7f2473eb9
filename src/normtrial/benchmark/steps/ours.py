"""Our side: `Loop.run` as shipped with log=file, its progress bar, record, forensics and default probes."""

from collections.abc import Callable, Iterator
from pathlib import Path

from normtrial.benchmark import overhead
from normtrial.benchmark.steps.shape import Shape
from normtrial.config import Config, compose
from normtrial.data import catalogue
from normtrial.data.batch import Batch
from normtrial.data.dataset import TextData
from normtrial.errors import require
from normtrial.training.loop import Loop

NEVER = 100_000  # steps: no turn comes to an evaluation, a checkpoint or the end
# What the peers are built as; any of these otherwise would compare two things.
FIXED = {
    "norm.name": "ln",
    "placement.name": "pre",
    "model.activation": "gelu",
    "model.positions": "learned",
    "model.qk_norm": "none",
    "model.mixer": "attention",
    "model.dropout_on": "branches",
    "model.embed_norm": False,
    "model.checkpoint_activations": False,
    "precision.compute": "fp32",
    "train.accumulate": 1,
}


def configured(*overrides: str) -> Config:
    """The configuration of our side; raises `ConfigError` where the peers can't follow."""
    never = (f"train.{name}={NEVER}" for name in ("steps", "eval_every", "checkpoint_every"))
    config = compose("log=file", "device=cpu", *overrides, *never)
    for path, value in FIXED.items():
        group, _, name = path.partition(".")
        given = getattr(getattr(config, group), name)
        require(given == value, f"{path}={given} has no equal among the peers; `step` measures {path}={value}.")
    return config


def data_of(config: Config) -> TextData:
    """The text, as train.py reads it."""
    return catalogue.load(config.data, Path(config.cache))


def shape_of(config: Config, data: TextData) -> Shape:
    """What the peers are built from."""
    model, task = config.model, data.task
    return Shape(
        kind=task.kind,
        num_layers=model.num_layers,
        d_model=model.d_model,
        num_heads=model.num_heads,
        d_ff=model.d_ff,
        dropout=model.dropout,
        tie=model.tie,
        vocab_size=task.vocab_size,
        num_outputs=task.num_outputs,
        max_len=config.data.max_len,
        optim=config.optim,
        steps=config.train.steps,
        log_every=config.train.log_every,
    )


def loop_of(config: Config, folder: Path) -> Loop:
    """With the instruments of a run as shipped."""
    loop = overhead.bare(config, folder)
    for instrument in (overhead.shipped_probes, overhead.forensic, overhead.barred):
        instrument(loop, folder, config)
    return loop


def trainer(loop: Loop) -> Callable[[Iterator[Batch]], None]:
    """Our loop as a function of the batches that it is given."""

    def train(batches: Iterator[Batch]) -> None:
        loop.s.data.train_batch = lambda step, seed: next(batches)  # type: ignore[method-assign]
        try:
            loop.run()
        finally:
            loop.s.sinks.finish({"status": "finished", "steps": 0})

    return train
