"""Made-up run folders, written through the same contract as real ones."""

import math
from pathlib import Path
from typing import Any

import pytest

from normtrial.records import JsonLines, RunFolder, write_text

CONFIG = """\
norm: {{name: {norm}, eps: 1e-05, affine: true{momentum}}}
placement: {{name: {placement}}}
model: {{num_layers: {layers}, d_model: 64, positions: learned, tie: true}}
data: {{source: bbc, batch_size: {batch_size}, max_len: {max_len}}}
optim: {{name: adamw, lr: {lr}}}
train: {{steps: {steps}, log_every: 10}}
seed: {seed}
store: {store}
log: {{mode: offline, group: {seed}}}
"""


class Factory:
    """Writes runs of a store."""

    def __init__(self, store: Path):
        self.store = store

    def __call__(
        self,
        run_id: str = "r0",
        *,
        norm: str = "bn",
        placement: str = "pre",
        seed: int = 0,
        task: str = "classification",
        status: str = "finished",
        die_at: int = 1000,
        layers: int = 4,
        lr: str = "1e-3",
        ended: bool = True,
        final: float = 0.8,
        batch_size: int = 8,
        max_len: int = 512,
        steps: int = 200,
    ) -> RunFolder:
        folder, name = RunFolder(self.store / run_id), f"{norm}-{placement}-s{seed}"
        values = {"norm": norm, "placement": placement, "seed": seed, "layers": layers, "lr": lr}
        values |= {"batch_size": batch_size, "max_len": max_len, "steps": steps}
        values |= {"momentum": ", momentum: 0.1" if norm == "bn" else "", "store": self.store}
        write_text(folder.path / "config.yaml", CONFIG.format(**values))
        folder.write_json(
            "meta.json", {"run_id": run_id, "name": name, "schema": 1, "command": f"made up {run_id}"}
        )
        rows = made_up_rows(task, norm == "bn", seed, layers, die_at, final)
        write_lines(folder.metrics_path, rows)
        events = []
        if status == "diverged":
            step = rows[-1]["step"]
            events.append({"step": step, "kind": "nonfinite_loss", "site": "block01.norm1", "detail": {}})
        if seed == 1:
            events.append({"step": 70, "kind": "spike", "site": None, "detail": {"ratio": 3.0}})
        write_lines(folder.events_path, events)
        if ended:
            summary = made_up_summary(run_id, name, task, status, rows)
            summary["data"]["padding_share"] = max_len / 4000
            folder.write_json("summary.json", summary)
        return folder


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    lines = JsonLines(path)
    for row in rows:
        lines.append(row)
    lines.close()


def made_up_rows(
    task: str, running: bool, seed: int, layers: int, die_at: int, final: float
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    sites = ["embed", "final_norm", "head"]
    sites += [f"block{b:02d}.{part}" for b in range(layers) for part in ("norm1", "attention", "norm2", "mlp")]
    speed = 40 + 60 * final
    start = math.log(5) if task == "classification" else math.log(4000)
    for step in range(10, 201, 10):
        loss = start * (0.3 + 0.7 * math.exp(-step / speed)) + 0.06 * math.sin(step * 1.7 + seed)
        dead = step >= die_at
        row = {
            "step": step,
            "train/loss_nats": math.nan if dead else loss,
            "optim/lr": 1e-3 * (1 - step / 250),
        }
        row |= {"grad/global_norm": math.inf if dead else 1 + loss, "throughput/tokens_per_s": 12345.6 + seed}
        for index, site in enumerate(sites):
            norm = 0.3 / (1 + index) * math.exp(-step / 150) * (1.2 + math.sin(step + index))
            row[f"grad/{site}/norm"] = math.nan if dead else norm
        rows.append(row)
        if dead:
            break
        if step % 40 == 0:
            rows.append({"step": step, **evaluation("val", task, loss + 0.1, final * step / 200)})
            if running:
                rows[-1] |= evaluation("val/batch_stats", task, loss + 0.05, final * step / 190)
    return rows


def evaluation(prefix: str, task: str, loss: float, accuracy: float) -> dict[str, float]:
    row = {f"{prefix}/loss_nats": loss, f"{prefix}/loss_nats_se": 0.03}
    if task == "lm":
        return row | {
            f"{prefix}/perplexity": math.exp(loss),
            f"{prefix}/bits_per_char": loss / math.log(2) / 4,
        }
    accuracy = min(accuracy, 1.0)
    return row | {
        f"{prefix}/accuracy": accuracy,
        f"{prefix}/accuracy_se": 0.02,
        f"{prefix}/macro_f1": accuracy * 0.9,
    }


def made_up_summary(run_id: str, name: str, task: str, status: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for row in rows:
        metrics |= {key: value for key, value in row.items() if key != "step"}
    best = {}
    for metric, better in (("val/loss_nats", min), ("val/accuracy", max)):
        seen = [(row[metric], row["step"]) for row in rows if metric in row]
        if seen:
            best[metric] = list(better(seen))
    trivial = {"loss_nats": 6.9} if task == "lm" else {"loss_nats": 1.57, "accuracy": 0.23}
    return {
        "run_id": run_id,
        "name": name,
        "status": status,
        "reason": "non-finite loss at block01.norm1" if status == "diverged" else None,
        "steps": 200,
        "seconds": 83.4,
        "metrics": metrics,
        "best": best,
        "trivial": trivial,
        "task": task,
        "data": {"name": "bbc", "vocab_size": 2048},
        "model": {"parameters": 312_453, "norm_parameters": 1024},
        "events": {"spike": 1},
        "sweep": None,
    }


@pytest.fixture
def make_run(tmp_path: Path) -> Factory:
    return Factory(tmp_path / "runs")
