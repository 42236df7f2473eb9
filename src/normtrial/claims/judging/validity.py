"""Is the judge itself right? Simulated experiments in which the truth is known: `scripts/claim.py validity`.

Each simulated seed has two runs with the same noise law; what is judged is their difference, as in a trial. Single
lists the other case, noise in the differences themselves, as where one arm alone is noisy.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from normtrial.claims.claim.training import Prediction
from normtrial.claims.judging import verdict
from normtrial.report import inference
from normtrial.report.inference import ALPHA, Interval

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
Limits = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

# Laws of a run's noise, each with mean 0 and variance 1.
NOISE: dict[str, Draw] = {
    "normal": lambda rng, size: rng.standard_normal(size),
    "skewed (exponential)": lambda rng, size: rng.exponential(size=size) - 1,
    "very skewed (lognormal, σ = 1)": lambda rng, size: (
        (rng.lognormal(0, 1, size) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    ),
    "heavy-tailed (t, 3 degrees)": lambda rng, size: rng.standard_t(3, size) / np.sqrt(3),
}


def t_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What verdicts rest on."""
    return inference.t_limits(values)[1:]


def johnson_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The t interval moved by the third moment: Johnson 1978."""
    num, mean = values.shape[-1], values.mean(-1)
    third = ((values - mean[..., None]) ** 3).mean(-1)
    variance = values.var(-1, ddof=1)
    centre = mean + third / (6 * num * np.where(variance > 0, variance, 1))
    half = stats.t.ppf(1 - ALPHA / 2, num - 1) * np.sqrt(variance / num)
    return centre - half, centre + half


def bootstrap_t_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of the t statistic from 999 resamples (Efron 1981), instead of Student's."""
    rng, num = np.random.default_rng(1), values.shape[-1]
    low, high = np.empty(len(values)), np.empty(len(values))
    for row, sample in enumerate(values):
        drawn = sample[rng.integers(num, size=(999, num))]
        deviation = drawn.std(-1, ddof=1)
        drawn, deviation = drawn[deviation > 0], deviation[deviation > 0]
        t_values = (drawn.mean(-1) - sample.mean()) / (deviation / np.sqrt(num))
        lower, upper = np.quantile(t_values, [ALPHA / 2, 1 - ALPHA / 2])
        error = sample.std(ddof=1) / np.sqrt(num)
        low[row], high[row] = sample.mean() - upper * error, sample.mean() - lower * error
    return low, high


def bca_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What is shown beside the t interval."""
    found = [inference.bootstrap_interval(list(row)) for row in values]
    return np.array([one.low for one in found]), np.array([one.high for one in found])


def hull_limits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The wider of the t and the bootstrap t interval on either side."""
    pairs = (t_limits(values), bootstrap_t_limits(values))
    return np.minimum(pairs[0][0], pairs[1][0]), np.maximum(pairs[0][1], pairs[1][1])


INTERVALS: dict[str, tuple[Limits, int]] = {  # limits, and how many times fewer samples they are given
    "t": (t_limits, 1),
    "Johnson's t": (johnson_limits, 1),
    "bootstrap t": (bootstrap_t_limits, 10),
    "t or bootstrap t, the wider": (hull_limits, 10),
    "bootstrap BCa": (bca_limits, 40),
}


def coverage(limits: Limits, noise: Draw, num: int, times: int, *, paired: bool = True, seed: int = 0) -> float:
    """The share of samples of `num` values whose interval holds the true mean, 0."""
    low, high = limits(samples(noise, num, times, paired=paired, seed=seed))
    return float(((low <= 0) & (high >= 0)).mean())


def samples(noise: Draw, num: int, times: int, *, paired: bool = True, seed: int = 0) -> np.ndarray:
    """(times, num) effects without any effect; of differences the variance is 2."""
    rng = np.random.default_rng(seed)
    values = noise(rng, (times, num))
    return values - noise(rng, (times, num)) if paired else values


def verdicts(effects: np.ndarray, prediction: Prediction, family: int = 1) -> list[str]:
    """Verdicts on rows of effects; every `family` rows share their error rate."""
    found: list[str] = []
    means, num = effects.mean(-1), effects.shape[-1]
    error = effects.std(-1, ddof=1) / np.sqrt(num)
    p_values = 2 * stats.t.sf(np.abs(means / error), num - 1)
    for first in range(0, len(effects), family):
        rows = slice(first, first + family)
        levels = inference.holm_levels(list(p_values[rows]))
        halves = stats.t.ppf(1 - np.array(levels) / 2, num - 1) * error[rows]
        found += [
            verdict.decide(Interval(mean, mean - half, mean + half), prediction)
            for mean, half in zip(means[rows], halves, strict=True)
        ]
    return found


def share(found: list[str], wanted: tuple[str, ...], family: int = 1) -> float:
    """Of families in which some verdict is one of those wanted."""
    families = [found[first : first + family] for first in range(0, len(found), family)]
    return sum(any(one in wanted for one in each) for each in families) / len(families)


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of the judge's, what was promised, and how many simulated experiments it rests on."""

    what: str
    noise: str
    figure: float
    promised: str
    times: int


def measure(times: int = 20_000, num: int = 5) -> Iterable[Row]:
    """The whole table; a minute or two."""
    for noise_name, noise in NOISE.items():
        for name, (limits, fewer) in INTERVALS.items():
            for paired in (True, False):
                what = f"coverage, {name}, n = {num}, {'two noisy arms' if paired else 'one noisy arm'}"
                found = coverage(limits, noise, num, times // fewer, paired=paired)
                yield Row(what, noise_name, found, "0.93 to 0.97", times // fewer)
    yield from error_rates(times, num)
    yield from power(times)


def error_rates(times: int, num: int) -> Iterable[Row]:
    """How often verdicts are wrong: of experiments without any effect, and of equality where the effect is δ."""
    wrong = (verdict.REPRODUCED, verdict.DIRECTION, verdict.CONTRADICTED)
    for noise_name, noise in NOISE.items():
        effects = samples(noise, num, times, seed=2)
        for family in (1, 6):
            found = verdicts(effects, Prediction(direction="up", smallest=0.1), family)
            what = f"A/A called an effect, family of {family}, n = {num}"
            yield Row(what, noise_name, share(found, wrong, family), "at most 0.05", times // family)
        equal = Prediction(direction="equal", smallest=4.0)
        called = share(verdicts(effects, equal), (verdict.CONTRADICTED,))
        yield Row(f"A/A called unequal, n = {num}", noise_name, called, "at most 0.05", times)
        called = share(verdicts(effects + 4.0, equal), (verdict.REPRODUCED,))
        yield Row(f"called equal where the effect is δ, n = {num}", noise_name, called, "at most 0.05", times)
        not_worse = Prediction(direction="not_worse", smallest=4.0)
        called = share(verdicts(effects - 4.0, not_worse), (verdict.REPRODUCED,))
        yield Row(f"called not worse where the effect is −δ, n = {num}", noise_name, called, "at most 0.05", times)
        sized = Prediction(direction="up", smallest=0.1, size=1.0)
        called = share(
            verdicts(effects + 1.0, sized), (verdict.SIZE_EXCLUDED, verdict.NO_EFFECT, verdict.CONTRADICTED)
        )
        yield Row(f"a true size called excluded, n = {num}", noise_name, called, "at most 0.05", times)
    for rate in (0.1, 0.5):
        yield Row(
            "A/A called an effect, rule rate, n = 8", f"binary, p = {rate}", rate_error(rate, 8), "at most 0.05", 0
        )


def rate_error(rate: float, num: int) -> float:
    """The same for two proportions, exactly: the probability of all outcomes whose interval excludes 0."""
    weights = stats.binom.pmf(range(num + 1), num, rate)
    return float(
        sum(
            weights[one] * weights[other]
            for one in range(num + 1)
            for other in range(num + 1)
            if (found := inference.rate_difference((one, num), (other, num))).low > 0 or found.high < 0
        )
    )


def power(times: int) -> Iterable[Row]:
    """How often the effect that is said to be detectable in four of five is found."""
    for noise_name, noise in NOISE.items():
        for num in (5, 8):
            planted = inference.detectable_effect(float(np.sqrt(2)), num)
            effects = samples(noise, num, times, seed=3) + planted
            found = verdicts(effects, Prediction(direction="up", smallest=1e-6))
            called = share(found, (verdict.REPRODUCED, verdict.DIRECTION))
            yield Row(f"power at the detectable effect, n = {num}", noise_name, called, "0.80", times)
