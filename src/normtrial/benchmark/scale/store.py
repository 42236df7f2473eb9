"""A store of many runs, written in seconds: one short run is trained, and copied with other settings and numbers."""

import itertools
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from normtrial.config import as_yaml, compose
from normtrial.config.help import CONF
from normtrial.config.shipped import shipped
from normtrial.errors import require
from normtrial.records import RunFolder, to_json

NORMS = ("ln", "bn", "rms", "ada")
DEPTHS = (2, 4, 6, 8, 12)
WIDTHS = (32, 64, 128, 256)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.03)
SEEDS = range(5)
MOST = len(NORMS) * len(DEPTHS) * len(WIDTHS) * len(RATES) * len(SEEDS)  # 2,000, in 400 arms
SHORT = ("log=file", "data.limit=64", "data.max_len=32", "train.steps=40", "train.eval_every=10", "train.log_every=1")


def fill(store: Path, num: int, cache: Path) -> None:
    """Write `num` runs into `store`, at most MOST: the first ones are those of one norm."""
    require(num <= MOST, f"{num} runs are more than {MOST}.")
    template = trained(store.with_name(f"{store.name}-template"), cache)
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
    """A run of some seconds, by a process of its own."""
    command = [sys.executable, str(CONF.with_name("train.py")), *SHORT, f"store={store}", f"cache={cache}"]
    subprocess.run(command, check=True, capture_output=True)
    (summary,) = store.glob("*/summary.json")
    return RunFolder(summary.parent)


def configurations() -> Iterator[str]:
    """MOST different ones, as files; seeds next to each other, as a sweep writes them."""
    base = compose(*SHORT)
    for norm, num_layers, d_model in itertools.product(NORMS, DEPTHS, WIDTHS):
        model = replace(base.model, num_layers=num_layers, d_model=d_model, d_ff=4 * d_model)
        text = as_yaml(replace(base, norm=shipped(norm), model=model))
        for lr, seed in itertools.product(RATES, SEEDS):  # in the text: YAML takes longer to write than all else
            yield re.sub(r"(?m)^seed: .*", f"seed: {seed}", re.sub(r"(?m)^  lr: .*", f"  lr: {lr}", text))


def varied(summary: dict[str, Any], number: int) -> dict[str, Any]:
    """The summary with numbers of its own."""
    factor = random.Random(number).uniform(0.5, 1.5)
    metrics = {
        name: value * factor if isinstance(value, float) else value for name, value in summary["metrics"].items()
    }
    return {**summary, "run_id": f"{number:012x}", "metrics": metrics}
