"""In what two arms differ: what their names say, what comes with it, and what nobody said.

Arms may differ only in what they say. Everything else is found here: leaves of the configuration, parameters,
floating point operations, the text, the code and the machine.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from normtrial.report.arms import ABSENT, Arm, Run, choice, differing, makes_an_arm
from normtrial.training.sinks.progress import short

COSTS = ("device", "compile", "model.checkpoint_activations")  # change no number, but time and memory
NAMED, BROUGHT, UNSAID = "named", "brought", "unsaid"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which an arm differs from its reference."""

    name: str
    ours: str
    theirs: str
    kind: str  # named: the arm's name says it; brought: the chosen option brings it along; unsaid: a confound


@dataclass(frozen=True, slots=True)
class Description:
    """An arm with everything in which it may differ from another, read once."""

    arm: Arm
    values: dict[str, Any]


def describe(arm: Arm) -> Description:
    """The configuration of an arm and what was found of its runs."""
    return Description(arm, {**leaves_of(arm), **facts(arm)})


def confounds(one: Description, reference: Description) -> list[Difference]:
    """All differences of two arms, first those of the configuration in its order."""
    ours, theirs = one.values, reference.values
    told = {*one.arm.told, *reference.arm.told}
    return [
        Difference(
            name, str(ours.get(name, ABSENT)), str(theirs.get(name, ABSENT)), kind(name, ours, theirs, told)
        )
        for name in differing([ours, theirs])
    ]


def kind(name: str, ours: dict[str, Any], theirs: dict[str, Any], told: Iterable[str]) -> str:
    """Whether a difference was said.

    Size and cost follow from the option chosen, like leaves that only one of both options has. A leaf that both
    have is its own decision: two norms with two eps differ in two things.
    """
    if name in told or name == choice(name):
        return NAMED
    return BROUGHT if name in SIZES or name not in ours or name not in theirs else UNSAID


def leaves_of(arm: Arm) -> dict[str, Any]:
    """The configuration of an arm, with what changes only its costs."""
    return {name: value for name, value in arm.runs[0].config.items() if makes_an_arm(name) or name in COSTS}


def facts(arm: Arm) -> dict[str, str]:
    """What was measured or found of an arm, outside its configuration; several values where its runs disagree."""
    found: dict[str, list[str]] = {}
    for run in arm.runs:
        for name, value in {**sizes(run), **origin(run)}.items():
            if value is not None:
                found.setdefault(name, []).append(value)
    seeds = sorted({str(run.config.get("seed")) for run in arm.runs}, key=lambda seed: (len(seed), seed))
    return {name: ", ".join(sorted(set(values))) for name, values in found.items()} | {"seeds": ", ".join(seeds)}


SIZES = ("parameters", "norm parameters", "FLOPs a token")


def sizes(run: Run) -> dict[str, str | None]:
    """Parameters, those in norms, and operations."""
    model = (run.summary or {}).get("model") or {}
    numbers = (model.get("parameters"), model.get("norm_parameters"), flops_per_token(run))
    return {
        name: None if value is None else f"{value:,}" if name != SIZES[2] else short(value)
        for name, value in zip(SIZES, numbers, strict=True)
    }


def origin(run: Run) -> dict[str, str | None]:
    """Text, code and machine."""
    meta, data = run.folder.read_meta(), (run.summary or {}).get("data") or {}
    threads = meta.get("threads")
    return {
        "text": data.get("identity"),
        "code": meta.get("code_hash"),
        "torch": (meta.get("versions") or {}).get("torch"),
        "host": meta.get("host"),
        "threads": None if threads is None else str(threads),
    }


def flops_per_token(run: Run) -> float | None:
    """Operations of training on one token: 6 N + 12 · layers · D · L, N parameters outside the embedding tables.

    Chowdhery et al. 2022 (PaLM), arXiv 2204.02311, appendix B; L is `data.max_len`, so an upper bound where texts
    are shorter. An embedding matrix that serves as the head counts. A ConvNet has no second term.
    """
    summary, config = run.summary or {}, run.config
    total, vocabulary = (
        (summary.get(part) or {}).get(name) for part, name in (("model", "parameters"), ("data", "vocab_size"))
    )
    needed = ("model.d_model", "model.num_layers", "model.positions", "model.tie", "model.mixer", "data.max_len")
    if total is None or vocabulary is None or any(name not in config for name in needed):
        return None
    width, layers, positions, tied, mixer, length = (config[name] for name in needed)
    tables = 0 if tied and run.task == "lm" else vocabulary * width
    tables += length * width if positions == "learned" else 0
    attention = 12 * layers * width * length if mixer == "attention" else 0
    return 6 * (total - tables) + attention
