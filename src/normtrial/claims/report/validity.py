"""`claim.py validity`: the table of simulated experiments, as Markdown."""

from pathlib import Path

from normtrial.claims.judging import validity
from normtrial.claims.judging.validity import Row
from normtrial.records import write_text

HEAD = """\
# What the judge's verdicts are worth

Simulated experiments whose truth is known: `python scripts/claim.py validity`. Noise is that of a run. Verdicts
rest on the t interval of differences by seed. With noise in both arms it holds what it promises, also where runs
are skewed: differences of equally skewed runs are symmetric. Where one arm alone is noisy and skewed it falls
short at n = 5, and so do the others that were tried; there more seeds or logarithms are the remedy.

| what | noise | promised | measured | experiments |
| --- | --- | --- | --- | --- |
"""


def write_validity(folder: Path, times: int = 20_000) -> Path:
    """Simulate and write."""
    path = folder / "validity.md"
    write_text(path, HEAD + "\n".join(map(line, validity.measure(times))) + "\n")
    return path


def line(row: Row) -> str:
    """One figure."""
    return f"| {row.what} | {row.noise} | {row.promised} | {row.figure:.3f} | {row.times or 'exact'} |"
