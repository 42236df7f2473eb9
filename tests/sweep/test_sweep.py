"""Real sweeps: compared at the end, done once, and a failure stops nothing but is never silent."""

from collections.abc import Callable
from pathlib import Path

import pytest

from normtrial import identity
from normtrial.config import Config
from normtrial.data import catalogue
from normtrial.records import list_runs
from tests.support import TINY, Answer, answer, command, start_process, wandb_records
from tests.sweep.processes import notes

BASIC = "hydra/launcher=basic"  # one process: quicker where parallel work is not the question


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweep") / "store"


@pytest.fixture(scope="module")
def typed(store: Path, cache: Path) -> Callable[..., Answer]:
    """`python train.py -m …` in the tiniest form; the sweep's folder has the given name."""

    def type_(name: str, *arguments: str) -> Answer:
        folder = f"hydra.sweep.dir={store.parent / name}"
        return answer(
            start_process("-m", *TINY, f"cache={cache}", f"store={store}", folder, *arguments), timeout=300
        )

    return type_


@pytest.fixture(scope="module")
def first(typed: Callable[..., Answer]) -> Answer:
    return typed("first", "norm=bn,ln", "seed=0,1")


def rows(ended: Answer) -> dict[str, list[str]]:
    """Rows of the printed table by arm."""
    lines = ended.out.split("mean ± sd over n seeds", 1)[1].splitlines()
    return {
        line.split()[0]: line.split()[1:]
        for line in lines
        if line.split() and line.split()[0] in ("bn", "ln", "rms")
    }


def test_a_sweep_ends_with_a_row_an_arm_and_a_figure(first: Answer, store: Path) -> None:
    assert first.code == 0, first.err
    assert "Traceback" not in first.err
    assert "sweep of 4 runs: " in first.out
    table = rows(first)
    assert set(table) == {"bn", "ln"}
    assert all(cells[0] == "2" and "±" in cells for cells in table.values())
    assert (store.parent / "first" / "overlay.png").stat().st_size > 1000
    assert sorted(run.read_meta()["name"] for run in list_runs(store)) == [
        "bn-pre-s0", "bn-pre-s1", "ln-pre-s0", "ln-pre-s1",
    ]  # fmt: skip


def test_every_job_has_a_thread_of_its_own_and_says_which_it_was(first: Answer, store: Path) -> None:
    for run in list_runs(store):
        meta = run.read_meta()
        assert meta["threads"] == 1
        assert meta["sweep"] == "first"
        assert "norm=" in meta["command"]
    jobs = notes(store.parent / "first")
    assert [job["name"] for job in jobs] == ["bn-pre-s0", "bn-pre-s1", "ln-pre-s0", "ln-pre-s1"]
    assert {job["status"] for job in jobs} == {"finished"}
    assert {job["run_id"] for job in jobs} == {run.run_id for run in list_runs(store)}


def test_typed_again_it_trains_nothing_and_compares_the_same(
    first: Answer, typed: Callable[..., Answer], store: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()}
    again = typed("again", "norm=bn,ln", "seed=0,1")
    assert again.code == 0, again.err
    assert "sweep of 4 runs, 4 of them done: " in again.out
    assert notes(store.parent / "again") == [], "no worker was started"
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*") if path.is_file()} == before
    assert rows(again) == rows(first)


@pytest.fixture(scope="module")
def broken(
    first: Answer, typed: Callable[..., Answer], store: Path, configure: Callable[..., Config], cache: Path
) -> tuple[Answer, str]:
    """Three jobs, mirrored to W&B; where the second wants its folder there is a file."""
    config = configure(*TINY, f"cache={cache}", f"store={store}", "norm=rms", "seed=2")
    identifier = identity.run_id(config, catalogue.load(config.data, cache).fingerprint)
    (store / identifier).write_text("in the way", encoding="utf-8")
    arguments = ["norm=bn,rms,ln", "seed=2", "log=wandb", "log.project=normtrial-test", BASIC]
    return typed("broken", *arguments), identifier


def test_a_crashed_job_stops_no_other_and_the_sweep_says_so(broken: tuple[Answer, str], store: Path) -> None:
    """B53: each job's failure is written down, the others go on, the end names all, and the exit code is 1."""
    ended, identifier = broken
    assert ended.code == 1
    assert set(rows(ended)) == {"bn", "ln"}
    folder = store.parent / "broken"
    assert ended.message == (
        f"normtrial: 1 of 3 runs failed; tracebacks are in {folder}/*/traceback.txt. "
        "The same command tries them again."
    )
    (line,) = (line for line in ended.err.splitlines() if line.startswith("rms-pre-s2 crashed: "))
    assert "norm=rms seed=2" in line
    assert "(job 1, " in line
    assert identifier in line
    assert "Error" in (folder / "1" / "traceback.txt").read_text(encoding="utf-8")
    assert [job["status"] for job in notes(folder)] == ["finished", "crashed", "finished"]
    assert "Traceback" not in ended.err, "it is in the file"


def test_w_and_b_gets_a_run_a_job_in_one_group(broken: tuple[Answer, str], store: Path) -> None:
    jobs = [job for job in notes(store.parent / "broken") if job["status"] == "finished"]
    found = []
    for job in jobs:
        (run,) = wandb_records(store / job["run_id"])["run"]
        found.append(run)
    assert [run["run_id"] for run in found] == [job["run_id"] for job in jobs]
    assert [run["display_name"] for run in found] == ["bn-pre-s2", "ln-pre-s2"]
    assert [run["run_group"] for run in found] == ["broken", "broken"]
    assert {run["project"] for run in found} == {"normtrial-test"}


def test_a_mistake_in_one_job_starts_none(tmp_path: Path) -> None:
    ended = command("-m", "norm=ln", "norm.eps=1e-5,0", f"store={tmp_path}", f"cache={tmp_path}", BASIC)
    assert ended.code == 1
    assert ended.message.startswith("normtrial: norm.eps=0.0 must lie strictly between 0 and 1")
    assert list(tmp_path.iterdir()) == []
