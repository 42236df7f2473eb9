"""Choices that would change nothing beside the rest, and shifts that the rest cannot bear: each an error.

A switch without effect trains the same model under another name, and a sweep over it compares noise.
"""

from normtrial.config.schema import Config
from normtrial.errors import require
from normtrial.norms.batch.position import PositionConfig
from normtrial.norms.catalogue import norm_class
from normtrial.norms.sequence import SequenceConfig
from normtrial.placements.catalogue import placement_class

PIXELS = 64  # of data=digits, 8 x 8


def refuse_choices_without_effect(config: Config) -> None:
    """Raise `ConfigError` for what stands in the configuration and nowhere in the model."""
    norm, placement, model, data = config.norm, config.placement, config.model, config.data
    require(
        placement_class(placement).uses_norms() or model.embed_norm or norm.name == "none",
        f"placement={placement.name} has no norm, so norm={norm.name} would change nothing. Write norm=none "
        f"placement={placement.name}; or choose a placement with norms, as placement=pre.",
    )
    require(
        model.dropout_on == "branches" or model.dropout > 0,
        f"model.dropout_on={model.dropout_on} changes nothing at model.dropout=0; raise that, or leave it out.",
    )
    require(
        model.dropout_on == "branches" or bool(placement_class(placement).norms_around()),
        f"model.dropout_on={model.dropout_on} would leave no dropout in the blocks of placement={placement.name}, "
        "which have no norms of their own. Choose placement=pre or post, or leave it out.",
    )
    require(
        model.mixer != "conv2d" or data.source == "digits",
        f"model.mixer=conv2d is for square images, and data={data.source} is text. Choose data=digits, or "
        "model.mixer=conv1d.",
    )
    lengths = (data.max_len, *config.eval.max_len)
    require(
        model.mixer != "conv2d" or min(lengths) >= PIXELS,
        f"model.mixer=conv2d wants whole images of {PIXELS} pixels, and data.max_len and eval.max_len are "
        f"{', '.join(map(str, lengths))}. Set them to {PIXELS} or more.",
    )
    require(
        model.tie or data.kind == "lm",
        f"model.tie=false changes nothing for data={data.source}: a classifier's head has no matrix to share with "
        "the embedding. Leave model.tie=true; it is for language models, as data=sotu.",
    )
    require(
        data.kind == "lm" or not (isinstance(norm, SequenceConfig) and norm.allow_leak),
        f"norm.allow_leak=true changes nothing for data={data.source}: only a causal language model has a future "
        "to leak. Leave norm.allow_leak=false; it is for language models, as data=sotu.",
    )


def check_shifts(config: Config) -> None:
    """Raise `ConfigError` for a shift that would fail after training, or say nothing."""
    shifts, data = config.eval, config.data
    for name in ("length_buckets", "one_class_batches"):
        require(
            data.kind == "classification" or not getattr(shifts, name),
            f"eval.{name}={getattr(shifts, name)} is for classification: the windows of data={data.source} are "
            "of one length and have no class. Leave it out.",
        )
    shifted = shifts.length_buckets is not None or bool(shifts.shifts())
    require(
        shifted or shifts.when != "always",
        "eval.when=always has no shift to evaluate. Choose one, as eval.noise=0.5, or leave it out.",
    )
    drawn = bool(shifts.shuffle_words or shifts.drop_words or shifts.noise)
    require(
        drawn or shifts.seed == 0,
        f"eval.seed={shifts.seed} draws nothing: eval.shuffle_words, drop_words and noise do. Leave it at 0.",
    )
    for length in shifts.max_len:
        _check_length(config, length)


def _check_length(config: Config, length: int) -> None:
    norm, trained = config.norm, config.data.max_len
    require(
        length <= trained or config.model.positions != "learned",
        f"eval.max_len={length} is longer than data.max_len={trained}, where learned positions end. "
        "Set model.positions=sinusoidal or rotary, or raise data.max_len.",
    )
    require(
        length <= trained or not (isinstance(norm, PositionConfig) and norm.unseen == "raise"),
        f"eval.max_len={length} is longer than data.max_len={trained}, where the statistics of norm={norm.name} "
        "end, and norm.unseen=raise stops there. Set norm.unseen=pooled or clamp.",
    )
    require(
        length == trained or not norm_class(norm).fixed_length(norm),
        f"eval.max_len={length} is not data.max_len={trained}, the one length that norm={norm.name} takes with "
        "norm.affine_shape=full. Set norm.affine_shape=shared.",
    )


def refuse_options_of_sweeps(config: Config) -> None:
    """Raise `ConfigError` where a single run has what only a sweep can heed."""
    sweep = config.sweep
    given = [
        *(["sweep.dry_run=true"] if sweep.dry_run else []),
        *([f"sweep.on_failure={sweep.on_failure}"] if sweep.on_failure != "continue" else []),
        *([f"sweep.arms (here {len(sweep.arms)})"] if sweep.arms else []),
    ]
    require(not given, f"{' and '.join(given)} would change nothing in a single run; write python train.py -m …")
