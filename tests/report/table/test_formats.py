import io

import pyarrow.csv
import pyarrow.parquet
import pytest
from rich.console import Console

from normtrial.report.page.build import compare
from normtrial.report.selection import select
from normtrial.report.table.formats import FORMATS, text_table


@pytest.fixture
def compared(make_run):
    for seed in (0, 1, 2):
        make_run(f"bn{seed}", seed=seed, final=0.8 + 0.01 * seed)
        make_run(f"ln{seed}", norm="ln", seed=seed, final=0.7)
    make_run("rms0", norm="rms", status="diverged", die_at=50)
    make_run("ada0", norm="ada", status="crashed")
    return compare(select([], make_run.store))


def test_rows_are_best_first_with_paired_differences(compared) -> None:
    assert [row.arm.name for row in compared.rows] == ["bn", "ln", "rms", "ada"]
    bn, ln, rms, ada = compared.rows
    assert bn.difference.estimate == pytest.approx(0.11)
    assert bn.difference.high - bn.difference.low == pytest.approx(2 * 4.302653 * 0.01 / 3**0.5, rel=1e-5)
    assert ln.is_reference
    assert (rms.num, rms.diverged.estimate, rms.difference.estimate) == (1, 1.0, pytest.approx(-0.7))
    assert (ada.num, ada.arm.count("crashed")) == (0, 1)


def test_the_terminal_has_every_arm_in_eighty_columns(compared) -> None:
    stream = io.StringIO()
    Console(file=stream, width=80).print(text_table(compared.rows, compared.outcome))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert ["bn", "3", "0.810", "±", "0.025", "+0.110", "±", "0.025", "0", "1:23", "min", "12.3k"] in lines
    assert ["ln", "3", "0.700", "±", "0.000", "reference", "0", "1:23", "min", "12.3k"] in lines
    assert "1 crashed, not in the mean" in stream.getvalue()
    assert max(map(len, stream.getvalue().splitlines())) <= 80


def test_csv_and_parquet_hold_the_same_numbers(compared) -> None:
    csv = pyarrow.csv.read_csv(io.BytesIO(FORMATS["csv"](compared.rows, compared.outcome))).to_pylist()
    parquet = pyarrow.parquet.read_table(
        io.BytesIO(FORMATS["parquet"](compared.rows, compared.outcome))
    ).to_pylist()
    assert csv == [{**row, "difference": row["difference"]} for row in parquet]
    assert [(row["arm"], row["runs"], row["pairs"], row["norm.name"]) for row in parquet][:2] == [
        ("bn", 3, 3, "bn"),
        ("ln", 3, 0, "ln"),
    ]
    assert parquet[0]["difference_low"] == pytest.approx(0.11 - 4.302653 * 0.01 / 3**0.5)
    assert parquet[3]["mean"] is None


def test_markdown_is_a_table(compared) -> None:
    text = FORMATS["md"](compared.rows, compared.outcome).decode()
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(compared.rows)
    assert {line.count("|") for line in table} == {8}
    assert "diverged runs count as 0" in text
