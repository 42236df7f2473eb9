"""Shifts of evaluation: the `eval` part of the configuration, and what it makes of it. Needs no torch.

A shift changes one thing about how a split is evaluated, and has a name of its own in every metric:

    val/accuracy    val/shuffle_words_0.2/accuracy    val/noise_0.5/batch_stats/accuracy

Training is never shifted, and two shifts are never combined.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from normtrial.data.view import PLAIN, View
from normtrial.data.words import Words
from normtrial.errors import not_one_of, require

WHEN = ("end", "always")
LEVELS = {  # options that take one number or a list: of which type, from where, up to where
    "shuffle_words": (float, "must lie in (0, 1]", lambda v: 0 < v <= 1),
    "drop_words": (float, "must lie in (0, 1)", lambda v: 0 < v < 1),
    "max_len": (int, "must be at least 2 tokens", lambda v: v >= 2),
    "batch_size": (int, "must be at least 1 example", lambda v: v >= 1),
    "noise": (float, "must be positive and finite", lambda v: 0 < v < 1e4),
}


@dataclass(frozen=True, slots=True)
class Shift:
    """One changed evaluation."""

    name: str  # its part of a metric's name
    view: View = PLAIN
    noise: float = 0.0


@dataclass(kw_only=True, slots=True)
class EvalConfig:
    """Shifted evaluations beside the plain one. Each is one more pass over a split.

    Where a number stands, a list of numbers may stand too; each is a shift of its own. An empty list is none.
    """

    when: str  # end: val and test after the last step; always: at every evaluation, at as many times the cost
    seed: int  # of shuffled and dropped words and of noise; the same for all arms and all of their seeds
    shuffle_words: Any  # share of the words of a text that change places, in (0, 1]; see data.words
    drop_words: Any  # share of the words of a text that are left out, in (0, 1)
    max_len: Any  # tokens an example instead of data.max_len; truncated in the same way
    batch_size: Any  # examples instead of data.batch_size
    noise: Any  # σ: Gaussian noise on token embeddings, sd in units of their root mean square; see network.noise
    length_buckets: int | None  # the plain evaluation by length of document, in so many buckets of equal size
    one_class_batches: bool  # every batch holds one class only, so that batch statistics are those of the class
    streaming: bool  # one example at a time in fixed order, as online; batch statistics are those of one example

    def __post_init__(self) -> None:
        """One number becomes a list, so that both ways of writing it are one run."""
        for name, (kind, _, _) in LEVELS.items():
            given = getattr(self, name)
            values = given if isinstance(given, list) else [] if given is None else [given]
            setattr(self, name, [float(v) if kind is float and type(v) is int else v for v in values])

    def check(self) -> None:
        """Known names, possible values, nothing twice."""
        if self.when not in WHEN:
            raise not_one_of("eval.when", self.when, WHEN)
        require(0 <= self.seed < 2**31, f"eval.seed={self.seed} must lie between 0 and 2^31 - 1.")
        for name, (kind, range_, holds) in LEVELS.items():
            values = getattr(self, name)
            for value in values:
                wanted = "a number, as 0.1" if kind is float else "a whole number, as 64"
                require(type(value) is kind, f"eval.{name}={value} is not {wanted}, nor a list of such.")
                require(holds(value), f"eval.{name}={value} {range_}.")
            require(len(set(values)) == len(values), f"eval.{name}={values} says the same twice.")
        buckets = self.length_buckets
        require(
            buckets is None or buckets >= 2,
            f"eval.length_buckets={buckets} must be at least 2, or null for none.",
        )
        require(
            not (self.streaming and 1 in self.batch_size),
            "eval.streaming=true is eval.batch_size=1 by another name; leave one of them out.",
        )

    def shifts(self) -> list[Shift]:
        """Every shift that is asked for; buckets of length are none, for they evaluate nothing anew."""
        words = [("shuffle_words", "shuffle"), ("drop_words", "drop")]
        found = [
            Shift(_named(name, share), View(words=Words(kind, share, self.seed)))
            for name, kind in words
            for share in getattr(self, name)
        ]
        found += [Shift(_named("max_len", length), View(max_len=length)) for length in self.max_len]
        found += [Shift(_named("batch_size", size), View(batch_size=size)) for size in self.batch_size]
        found += [Shift(_named("noise", sigma), noise=sigma) for sigma in self.noise]
        if self.one_class_batches:
            found.append(Shift("one_class_batches", View(one_class=True)))
        if self.streaming:
            found.append(Shift("streaming", View(batch_size=1)))
        return found


def _named(name: str, value: float) -> str:
    return f"{name}_{value:g}" if isinstance(value, float) else f"{name}_{value}"


@dataclass(slots=True)
class Shifts:
    """What an evaluation needs to know: which shifts, when, and how noise is put in."""

    each: tuple[Shift, ...] = ()
    always: bool = False
    length_buckets: int | None = None
    noisy: Callable[[float], AbstractContextManager] = lambda sigma: nullcontext()
