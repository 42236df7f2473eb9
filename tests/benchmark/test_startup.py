"""Where the seconds before the first step go."""

import json
import time
from pathlib import Path

import pytest

from normtrial.benchmark import startup
from normtrial.benchmark.phases import PHASES
from tests.support import TINY


def test_every_phase_is_the_time_since_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0

    def run(*arguments: str) -> str:
        nonlocal now
        began, now = now, now + (0.5 if arguments[-1] == startup.HELP else 40)
        return f"loss 1.2\n{json.dumps({phase: began + (n + 1) ** 2 for n, phase in enumerate(PHASES)})}\n"

    monkeypatch.setattr(startup, "_python", run)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    row = startup.once()
    assert [row[phase] for phase in PHASES] == [1, 3, 5, 7, 9, 11, 4]
    assert row["until the first step"] == 36
    assert row[startup.HELP] == 0.5


@pytest.mark.slow
def test_a_real_start_has_every_phase(cache: Path) -> None:
    found = startup.startup_times(1, *TINY, f"cache={cache}")
    assert set(found) == {*PHASES, "until the first step", startup.HELP}
    assert all(seconds > 0 for times in found.values() for seconds in times)
    assert found["import"] > found["compose"]
    assert found[startup.HELP][0] < found["until the first step"][0]
