"""A store of many runs in seconds: a short one is trained, and copied with other settings and numbers."""

import itertools
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from normtrial.config import as_yaml, compose
from normtrial.config.shipped import shipped
from normtrial.help import CONF
from normtrial.records import RunFolder, to_json

NORMS = ("ln", "bn", "rms", "ada")
DEPTHS = (2, 4, 6, 8, 12)
WIDTHS = (32, 64, 128, 256)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
SEEDS = 5  # an arm: 2,000 runs have 400 arms
SHORT = (
    "log=file",
    "data.limit=64",
    "data.max_len=32",
    "train.steps=40",
    "train.eval_every=10",
    "train.log_every=1",
)


def fill(store: Path, num: int, cache: Path) -> None:
    """Write `num` runs into `store`."""
    template = trained(store.with_name("template"), cache)
    summary = template.read_summary()
    assert summary is not None
    copied = {name: (template.path / name).read_bytes() for name in ("meta.json", "metrics.jsonl", "events.jsonl")}
    for number, text in enumerate(itertools.islice(configurations(), num)):
        folder = store / f"{number:012x}"
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        (folder / "summary.json").write_text(to_json(varied(summary, number)), encoding="utf-8")
        for name, content in copied.items():
            (folder / name).write_bytes(content)


def trained(store: Path, cache: Path) -> RunFolder:
    """A run of some seconds by a process of its own; the one that is there, if it was made before."""
    if not store.exists():
        command = [sys.executable, str(CONF.with_name("train.py")), *SHORT, f"store={store}", f"cache={cache}"]
        subprocess.run(command, check=True, capture_output=True)
    (summary,) = store.glob("*/summary.json")
    return RunFolder(summary.parent)


def configurations() -> Iterator[str]:
    """As files, endlessly: 400 arms of five seeds each, then the same arms with further seeds."""
    for first_seed in itertools.count(0, SEEDS):
        yield from _grid(range(first_seed, first_seed + SEEDS))


def _grid(seeds: range) -> Iterator[str]:
    base = compose(*SHORT)
    for norm, num_layers, d_model in itertools.product(NORMS, DEPTHS, WIDTHS):
        model = replace(base.model, num_layers=num_layers, d_model=d_model, d_ff=4 * d_model)
        text = as_yaml(replace(base, norm=shipped(norm), model=model))
        for lr, seed in itertools.product(RATES, seeds):  # in the text: YAML takes longer to write than all else
            yield re.sub(r"(?m)^seed: .*", f"seed: {seed}", re.sub(r"(?m)^  lr: .*", f"  lr: {lr}", text))


def varied(summary: dict[str, Any], number: int) -> dict[str, Any]:
    """The summary with numbers of its own."""
    factor = random.Random(number).uniform(0.5, 1.5)
    metrics = {
        name: value * factor if isinstance(value, float) else value for name, value in summary["metrics"].items()
    }
    return {**summary, "run_id": f"{number:012x}", "metrics": metrics}
