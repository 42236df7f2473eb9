"""What a sweep has to do, from run folders as they are found."""

import dataclasses
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from normtrial import identity, records
from normtrial.config import Config
from normtrial.sweep.entry import Entry, Notes, standing
from normtrial.sweep.launch import MAX_ATTEMPTS, Launching, carry_out
from normtrial.sweep.plan import by_other_code, distinct, estimate, in_short, plan, print_plan

Planned = Callable[..., Entry]


@pytest.fixture
def entry(configure: Callable[..., Config], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planned:
    """A planned run with the given record."""
    monkeypatch.setattr("normtrial.data.catalogue.fingerprint", lambda config, cache: "some text")

    def composed(*overrides: str) -> Config:
        files = [one for one in overrides if not one.startswith("seed=")]  # composing takes its time
        seeds = [int(one.removeprefix("seed=")) for one in overrides if one.startswith("seed=")]
        return dataclasses.replace(configure(*files), store=str(tmp_path / "store"), seed=sum(seeds))

    def planned(*overrides: str, **summary: Any) -> Entry:
        (found,) = plan([list(overrides)], lambda given: composed(*given))
        if summary:
            whole = {"steps": 200, "seconds": 20.0, **summary}
            records.write_text(found.folder.path / "summary.json", records.to_json(whole))
            (found.folder.path / "curves.png").touch()
            found.status = standing(found.folder)
        return found

    return planned


def test_two_ways_to_the_same_run_are_one(
    configure: Callable[..., Config], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normtrial.data.catalogue.fingerprint", lambda config, cache: "some text")
    planned = plan([["norm=ln"], ["norm=bn"], ["norm=ln", "seed=0", "device=cpu"]], lambda job: configure(*job))
    assert [planned.index(one) for one in planned] == [0, 1, 0]
    assert in_short(distinct(planned)) == "2 runs"


def test_where_a_run_stands(entry: Planned) -> None:
    assert entry().status == "new"
    for status in ("finished", "diverged", "crashed", "interrupted"):
        assert entry(status=status).status == status
    folder = entry().folder
    (folder.path / "curves.png").unlink()
    (folder.path / "summary.json").write_text(records.to_json({"status": "finished"}))
    assert standing(folder) == "interrupted", "a job has to draw the curves"
    (folder.path / "summary.json").write_text("{")
    assert standing(folder) == "new"
    folder.metrics_path.touch()
    assert standing(folder) == "interrupted"
    with records.lock(folder.path / ".lock"):
        assert standing(folder) == "busy"


def test_the_plan_says_what_is_left_and_for_how_long(entry: Planned) -> None:
    entries = [
        entry("norm=bn", "seed=0", status="finished", seconds=20.0),
        entry("norm=bn", "seed=1"),
        entry("norm=ln", "seed=0", status="finished", seconds=10.0),
        entry("norm=ln", "seed=1", status="interrupted", steps=150),
        entry("norm=rms", "seed=0", status="crashed"),
    ]
    # 200 steps at 0.1 s, 50 at 0.05 s, 200 at the median of both
    assert estimate([e for e in entries if e.status != "finished"], entries) == pytest.approx(20 + 2.5 + 15)
    console = Console(record=True, width=100, file=io.StringIO())
    print_plan(entries, workers=2, console=console)
    text = " ".join(console.export_text().split())
    assert "1 to do bn-pre-s1 1 interrupted, to be resumed ln-pre-s1" in text
    assert "1 crashed, to be tried again rms-pre-s0 2 done bn-pre-s0, ln-pre-s0" in text
    assert "About 00:19 on 2 workers" in text
    assert estimate(entries[1:2], entries[1:2]) is None


def test_results_of_other_code_are_counted(entry: Planned) -> None:
    mine, other = entry("seed=0", status="finished"), entry("seed=1", status="finished")
    for one, code in ((mine, identity.code_hash()), (other, "other code")):
        one.folder.write_json("meta.json", {"code_hash": code})
    assert by_other_code([mine, other, entry("seed=2")]) == 1


class Script:
    """A launcher whose jobs end as they are told to."""

    def __init__(self, folder: Path, *endings: str | dict[str, Any]):
        self.folder, self.endings, self.calls = folder, list(endings), 0

    def launch(self, jobs: list[list[str]], first: int) -> None:
        self.calls += 1
        for number in range(first, first + len(jobs)):
            ending = self.endings.pop(0)
            if ending == "broken":
                raise RuntimeError("A worker was terminated.\nMore.")
            note = ending if isinstance(ending, dict) else {"status": ending}
            records.write_text(self.folder / str(number) / "job.json", records.to_json(note))


@pytest.fixture
def follow(tmp_path: Path) -> Callable[..., Script]:
    def followed(entries: list[Entry], *endings: str | dict[str, Any], on_failure: str = "continue") -> Script:
        script = Script(tmp_path / "sweep", *endings)
        carry_out(entries, Launching(script.launch, 1), tmp_path / "sweep", on_failure)
        return script

    return followed


def test_only_what_has_no_result_is_launched(entry: Planned, follow: Callable[..., Script]) -> None:
    entries = [entry("seed=0", status="finished"), entry("seed=1", status="crashed"), entry("seed=2")]
    follow(entries, "finished", "diverged")
    assert [one.status for one in entries] == ["finished", "finished", "diverged"]
    assert follow([entries[0]]).calls == 0


def test_a_run_whose_process_died_is_taken_up_again_and_not_for_ever(
    entry: Planned, follow: Callable[..., Script], capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry("seed=0"), entry("seed=1")]
    follow(entries, "running", "finished", "running", "finished")
    assert [one.status for one in entries] == ["finished", "finished"]
    stubborn = entry("seed=2")
    script = follow([stubborn], *["running"] * 10)
    assert script.calls == MAX_ATTEMPTS
    assert (stubborn.status, stubborn.error) == ("killed", "3 processes died at it, the last after step 0")


def test_a_broken_pool_costs_no_attempt_of_what_it_had_not_begun(
    entry: Planned, follow: Callable[..., Script], capsys: pytest.CaptureFixture[str]
) -> None:
    entries = [entry(f"seed={seed}") for seed in range(3)]
    follow(entries, "running", "broken", "finished", "finished", "finished")
    assert [one.status for one in entries] == ["finished"] * 3
    assert [one.attempts for one in entries] == [2, 1, 1]
    assert "the launcher gave up: RuntimeError: A worker was terminated.\n" in capsys.readouterr().err


def test_a_launcher_that_begins_nothing_is_not_asked_again(entry: Planned, follow: Callable[..., Script]) -> None:
    entries = [entry("seed=0")]
    assert follow(entries, "broken").calls == 1
    assert entries[0].error.startswith("the launcher gave up: RuntimeError: A worker was terminated.")


def test_the_first_crash_stops_where_that_was_asked_for(entry: Planned, follow: Callable[..., Script]) -> None:
    entries = [entry("seed=0"), entry("seed=1")]
    follow(entries, {"status": "crashed", "error": "OSError: gone"}, "interrupted", on_failure="stop")
    assert [(one.status, one.error) for one in entries] == [("crashed", "OSError: gone"), ("new", "")]


def test_anothers_run_is_waited_for_and_taken_over_when_it_is_left(
    entry: Planned, follow: Callable[..., Script]
) -> None:
    finishing, left = entry("seed=0"), entry("seed=1")
    for one in (finishing, left):
        one.folder.path.mkdir(parents=True)
    held = [records.lock(one.folder.path / ".lock") for one in (finishing, left)]
    for one in held:
        one.__enter__()

    def end() -> None:
        records.write_text(finishing.folder.path / "summary.json", records.to_json({"status": "finished"}))
        (finishing.folder.path / "curves.png").touch()
        for one in held:
            one.__exit__(None, None, None)

    threading.Timer(1.2, end).start()
    script = follow([finishing, left], "busy", "busy", "finished")
    assert script.calls == 2
    assert (finishing.status, left.status) == ("finished", "finished")
    assert (finishing.attempts, left.attempts) == (0, 1)


def test_a_stopped_sweep_says_so_to_its_caller(entry: Planned, tmp_path: Path) -> None:
    one, folder = entry("seed=0"), tmp_path / "sweep"

    def launch(jobs: list[list[str]], first: int) -> None:
        records.write_text(folder / str(first) / "job.json", records.to_json({"status": "interrupted"}))
        (folder / "stop").touch()

    with pytest.raises(KeyboardInterrupt):
        carry_out([one], Launching(launch, 1), folder, "continue")
    assert not one.has_ended
    assert Notes(folder).next_number() == 1
