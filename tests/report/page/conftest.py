import os
from pathlib import Path

import pytest

from normtrial.report.page.build import compare, page
from normtrial.report.selection import select
from tests.report.conftest import Factory


@pytest.fixture(scope="session")
def full_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that have something for every section: rates, batch sizes, text lengths, divergence, events."""
    make_run = Factory(tmp_path_factory.mktemp("full") / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)  # nothing here outlives a power cut
        for seed in (0, 1):
            for norm in ("bn", "ln"):
                for batch_size in (4, 8):
                    for max_len in (256, 512):
                        run_id = f"{norm}-{batch_size}-{max_len}-{seed}"
                        make_run(run_id, norm=norm, seed=seed, batch_size=batch_size, max_len=max_len, layers=1)
        make_run("fast", norm="bn", lr="1e-2", layers=1, status="diverged", die_at=90)
    return make_run.store


@pytest.fixture(scope="session")
def full_page(full_store: Path) -> Path:
    """Their page, made once for all tests that only look at it."""
    path = full_store.parent / "report.html"
    path.write_text(page(compare(select([], full_store)), "A <title>", "report.py 'a<b'"), encoding="utf-8")
    return path
