"""What is kept of runs, small enough to be committed: the numbers that claims read, as parquet. Needs no torch."""

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from normtrial.claims.trials.needs import Trial
from normtrial.records import write_bytes

FILE = "runs.parquet"
SERIES = pa.list_(
    pa.struct([("name", pa.string()), ("steps", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))])
)
NUMBERS = pa.list_(pa.struct([("name", pa.string()), ("value", pa.float64())]))
SCHEMA = pa.schema(
    [
        ("arm", pa.string()),
        ("seed", pa.int64()),
        ("run_id", pa.string()),
        ("status", pa.string()),
        ("steps", pa.int32()),
        ("planned", pa.int32()),
        ("seconds", pa.float64()),
        ("code_hash", pa.string()),
        ("trivial", NUMBERS),
        ("series", SERIES),
        ("looked_for", pa.list_(pa.string())),
    ]
)


@dataclass(slots=True)
class RunRecord:
    """One run that has ended."""

    arm: str
    seed: int
    run_id: str
    status: str  # finished or diverged
    steps: int  # taken
    planned: int
    seconds: float
    code_hash: str
    trivial: dict[str, float]  # metric's last part -> the trivial predictor's value
    series: dict[str, list[tuple[int, float]]] = field(default_factory=dict)  # (step, value); finite ones only
    looked_for: list[str] = field(default_factory=list)  # metrics; what is not in `series` the run did not have

    @property
    def trial(self) -> Trial:
        """What it is a run of."""
        return Trial(self.arm, self.seed)

    def last(self, name: str) -> float | None:
        """The metric's last value."""
        points = self.series.get(name)
        return points[-1][1] if points else None


Evidence = dict[Trial, RunRecord]


def has(found: Evidence, trial: Trial, names: Collection[str]) -> bool:
    """Whether the trial has run and these metrics were looked for; a claim that came later may ask for others."""
    return trial in found and set(names) <= set(found[trial].looked_for)


def read(folder: Path) -> Evidence:
    """Every run kept; none where nothing has been collected yet."""
    path = folder / FILE
    if not path.exists():
        return {}
    records = [_from_row(row) for row in pq.read_table(path, columns=SCHEMA.names).to_pylist()]
    return {record.trial: record for record in records}


def write(records: Iterable[RunRecord], folder: Path) -> Path:
    """Keep them, sorted, the same bytes for the same runs; whole, also where two commands do so at once."""
    rows = [_to_row(record) for record in sorted(records, key=lambda record: record.trial)]
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    content = pa.BufferOutputStream()
    pq.write_table(table, content, compression="zstd", compression_level=19)
    write_bytes(folder / FILE, memoryview(content.getvalue()))
    return folder / FILE


def _to_row(record: RunRecord) -> dict[str, Any]:
    series = [
        {"name": name, "steps": [step for step, _ in points], "values": [six(value) for _, value in points]}
        for name, points in sorted(record.series.items())
    ]
    trivial = [{"name": name, "value": six(value)} for name, value in sorted(record.trivial.items())]
    return asdict(record) | {"series": series, "trivial": trivial}


def _from_row(row: dict[str, Any]) -> RunRecord:
    series = {one["name"]: list(zip(one["steps"], one["values"], strict=True)) for one in row["series"]}
    return RunRecord(**row | {"series": series, "trivial": {one["name"]: one["value"] for one in row["trivial"]}})


def six(value: float) -> float:
    """Six significant digits: what a run repeats on another machine, and half the bytes."""
    return float(f"{value:.6g}")
