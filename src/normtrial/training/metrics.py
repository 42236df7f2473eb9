"""Every number that a run logs: one table with unit, direction and meaning. Needs no torch.

A new metric of evaluation is one function of `Predictions` and one row; a test checks that nothing else is logged.
Those of evaluation are named `split[/shift][/batch_stats]/metric`, as in `val/shuffle_words_0.2/accuracy`; shifts
are those of `training.evaluation.shifts` or buckets of length (`val/length_1of4/accuracy`: the shortest quarter).
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

Direction = Literal["min", "max"] | None
_SHIFT = (
    r"(?:shuffle_words|drop_words|noise)_[\d.e-]+|(?:max_len|batch_size)_\d+|length_\d+of\d+"
    r"|one_class_batches|streaming"
)
SPLITS = rf"(?:val|test)(?:/(?:{_SHIFT}))?(?:/batch_stats)?"
_EVALUATED = re.compile(rf"(val|test)(?:/({_SHIFT}))?(/batch_stats)?/(\w+)")


class Evaluated(NamedTuple):
    """The parts of an evaluation metric's name."""

    split: str  # val or test
    shift: str  # "" for the plain evaluation
    statistics: str  # "" for running statistics or none; "/batch_stats"
    metric: str

    @property
    def name(self) -> str:
        """The whole name."""
        return f"{self.split}{'/' if self.shift else ''}{self.shift}{self.statistics}/{self.metric}"


def evaluated(name: str) -> Evaluated | None:
    """The parts of a name; None where it is no evaluation's.

    >>> evaluated("val/noise_0.5/batch_stats/accuracy")
    Evaluated(split='val', shift='noise_0.5', statistics='/batch_stats', metric='accuracy')
    """
    match = _EVALUATED.fullmatch(name)
    return Evaluated(*(part or "" for part in match.groups())) if match else None


@dataclass(slots=True)
class Predictions:
    """What an evaluation saw: one entry an example (classification) or a window (language model)."""

    loss: np.ndarray  # mean loss of the entry, nats
    predicted: np.ndarray | None = None  # class numbers; None for a language model
    labels: np.ndarray | None = None
    tokens_per_char: float = math.nan  # of the split; language models only
    tokens_per_byte: float = math.nan

    def part(self, entries: np.ndarray) -> "Predictions":
        """Only these entries."""
        predicted, labels = (None if all_ is None else all_[entries] for all_ in (self.predicted, self.labels))
        return replace(self, loss=self.loss[entries], predicted=predicted, labels=labels)


Function = Callable[[Predictions], float]


def loss_nats(p: Predictions) -> float:
    """Mean cross-entropy in nats, over examples or windows."""
    return float(p.loss.mean())


def loss_nats_se(p: Predictions) -> float:
    """Standard error of the mean loss: sd / sqrt(n) over examples or windows; NaN for a single one."""
    return float(p.loss.std(ddof=1) / math.sqrt(len(p.loss))) if len(p.loss) > 1 else math.nan


def accuracy(p: Predictions) -> float:
    """Share of examples whose most probable class is the label."""
    return float((p.predicted == p.labels).mean())


def accuracy_se(p: Predictions) -> float:
    """Binomial standard error of the accuracy: sqrt(a (1 − a) / n)."""
    share = accuracy(p)
    return math.sqrt(share * (1 - share) / len(p.loss))


def macro_f1(p: Predictions) -> float:
    """Unweighted mean over the classes present of 2 TP / (2 TP + FP + FN)."""
    assert p.labels is not None and p.predicted is not None
    scores = []
    for label in np.unique(np.concatenate([p.labels, p.predicted])):
        hits = int(((p.predicted == label) & (p.labels == label)).sum())
        wrong = int(((p.predicted == label) != (p.labels == label)).sum())
        scores.append(2 * hits / (2 * hits + wrong))
    return float(np.mean(scores))


def perplexity(p: Predictions) -> float:
    """exp(mean loss a token); compares only between runs of one vocabulary."""
    mean = loss_nats(p)
    return math.inf if mean > 700 else math.exp(mean)


def bits_per_char(p: Predictions) -> float:
    """mean loss / ln 2 × tokens a character: compares between vocabularies."""
    return loss_nats(p) / math.log(2) * p.tokens_per_char


def bits_per_byte(p: Predictions) -> float:
    """mean loss / ln 2 × tokens a byte of UTF-8: compares between vocabularies and scripts.

    Only where none is unknown: an [UNK] is cheaper than what it stands for (`data.unknown_share` in the summary).
    """
    return loss_nats(p) / math.log(2) * p.tokens_per_byte


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the table. `<split>` (with shift and statistics), `<site>` and `<kind>` vary in a name."""

    pattern: str
    unit: str
    direction: Direction
    description: str
    task: Literal["classification", "lm"] | None = None
    function: Function | None = field(default=None, compare=False)

    def matches(self, name: str) -> bool:
        """True where `name` is an instance of the pattern."""
        expression = re.escape(self.pattern).replace("<split>", SPLITS)
        expression = expression.replace("<site>", r"[\w.]+").replace("<kind>", r"\w+")
        return re.fullmatch(expression, name) is not None


METRICS: tuple[Metric, ...] = (
    Metric("train/loss_nats", "nats", "min", "loss of this step's batch, before the update"),
    Metric("train/penalty_nats", "nats", None, "what the norms add to the loss that is minimized"),
    Metric("optim/lr", "1", None, "learning rate of this step"),
    Metric("grad/global_norm", "1", None, "2-norm of all gradients, before clipping"),
    Metric("grad/<site>/norm", "1", None, "2-norm of the gradients of a site's parameters, before clipping"),
    Metric("update/<site>/ratio", "1", None, "‖ΔW‖ / ‖W‖ of a site's parameters in this step"),
    Metric("stats/<site>/tid_mean", "1", None, "mean of |μ_run − μ_B| / σ_B over features of a norm"),
    Metric("stats/<site>/tid_var", "1", None, "mean of |σ_run / σ_B − 1| over features of a norm"),
    Metric("stats/<site>/distance_mean", "activation", None, "‖μ_B − μ_run‖ / D of a norm's statistics"),
    Metric("stats/<site>/distance_var", "activation²", None, "‖σ²_B − σ²_run‖ / D of a norm's statistics"),
    Metric("stats/<site>/cv_mean", "1", None, "sd over probed steps of μ_B, in units of σ"),
    Metric("stats/<site>/cv_var", "1", None, "sd over probed steps of σ²_B, over its mean"),
    Metric("stats/<site>/log_sigma_mean", "1", None, "mean of log sqrt(σ²_B + eps) over features of a norm"),
    Metric("stats/<site>/log_sigma_min", "1", None, "the least of them"),
    Metric("stats/<site>/tokens", "tokens", None, "tokens that entered the batch's statistics"),
    Metric(
        "stream/<site>/variance", "activation²", None, "variance over features after a block, mean over tokens"
    ),
    Metric("stream/<site>/kurtosis", "1", None, "kurtosis over features after a block, mean over tokens"),
    Metric("stream/<site>/feature_max", "activation²", None, "largest variance of a feature over tokens"),
    Metric("stream/<site>/feature_median", "activation²", None, "median over features of that variance"),
    Metric("activation/<site>/max_abs", "activation", None, "largest |output| of a site over valid tokens"),
    Metric("centring/<site>/cos_ones", "1", None, "mean over tokens of cos(x, 1) in front of a norm"),
    Metric("centring/<site>/cos_ones_rms", "1", None, "root of the mean over tokens of cos²(x, 1)"),
    Metric("attention/<site>/entropy", "1", None, "mean entropy of attention rows, over that of uniform ones"),
    Metric("attention/<site>/max_logit", "1", None, "largest |q·k| · scale"),
    Metric("affine/<site>/gain_mean", "1", None, "mean of a norm's γ"),
    Metric("affine/<site>/gain_sd", "1", None, "standard deviation of a norm's γ over features"),
    Metric("affine/<site>/shift_mean", "1", None, "mean of a norm's β"),
    Metric("affine/<site>/shift_sd", "1", None, "standard deviation of a norm's β over features"),
    Metric("time/step_s", "s", "min", "mean wall time of a step since the last row, evaluation excluded"),
    Metric("time/data_s", "s", "min", "mean wall time a step spent waiting for its batch, since the last row"),
    Metric("throughput/tokens_per_s", "tokens/s", "max", "valid tokens trained on per second of step time"),
    Metric("memory/peak_mib", "MiB", "min", "peak memory: resident set on a CPU, allocated on a GPU"),
    Metric("progress/epoch", "epochs", None, "passes over the training split so far"),
    Metric("events/<kind>", "events", "min", "events of a kind so far"),
    Metric("<split>/loss_nats", "nats", "min", "mean loss on the split", None, loss_nats),
    Metric(
        "<split>/loss_nats_se",
        "nats",
        None,
        "its standard error over examples or windows",
        None,
        loss_nats_se,
    ),
    Metric("<split>/accuracy", "1", "max", "share of right predictions", "classification", accuracy),
    Metric("<split>/accuracy_se", "1", None, "its binomial standard error", "classification", accuracy_se),
    Metric("<split>/macro_f1", "1", "max", "F1 averaged over classes", "classification", macro_f1),
    Metric("<split>/perplexity", "1", "min", "exp of the mean loss a token", "lm", perplexity),
    Metric("<split>/bits_per_char", "bits", "min", "loss a character, in bits", "lm", bits_per_char),
    Metric("<split>/bits_per_byte", "bits", "min", "loss a byte of UTF-8, in bits", "lm", bits_per_byte),
)


def find(name: str) -> Metric | None:
    """The row that describes a logged name.

    >>> find("val/batch_stats/accuracy").direction, find("test/noise_0.5/batch_stats/loss_nats").unit
    ('max', 'nats')
    >>> find("grad/block00.norm1/norm").unit
    '1'
    """
    return next((metric for metric in METRICS if metric.matches(name)), None)


def score(predictions: Predictions, task: str, prefix: str) -> dict[str, float]:
    """Every metric of the task, under its name for the split `prefix`."""
    return {
        metric.pattern.replace("<split>", prefix): metric.function(predictions)
        for metric in METRICS
        if metric.function is not None and metric.task in (None, task)
    }
