from pathlib import Path

import pytest

from normtrial.errors import ConfigError
from normtrial.records import write_text
from normtrial.report.arms import group
from normtrial.report.selection import references, select


@pytest.fixture
def store(make_run) -> Path:
    for norm in ("bn", "ln"):
        for lr in ("1e-3", "3e-3"):
            make_run(f"{norm}{lr}", norm=norm, lr=lr)
    make_run("lm", norm="rms", task="lm", status="diverged", die_at=50, seed=1)
    return make_run.store


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ([], {"bn1e-3", "bn3e-3", "ln1e-3", "ln3e-3", "lm"}),
        (["norm=bn"], {"bn1e-3", "bn3e-3"}),
        (["norm=bn,rms", "optim.lr<2e-3"], {"bn1e-3", "lm"}),
        (["optim.lr=0.003"], {"bn3e-3", "ln3e-3"}),
        (["optim.lr>=3e-3", "norm!=bn"], {"ln3e-3"}),
        (["norm.momentum=0.1"], {"bn1e-3", "bn3e-3"}),
        (["norm.momentum!=0.1"], {"ln1e-3", "ln3e-3", "lm"}),
        (["norm.affine=true", "status=diverged"], {"lm"}),
        (["task=classification", "data=bbc", "seed=0", "run=bn1e-3"], {"bn1e-3"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_run_is_taken_where_every_condition_holds(store: Path, words: list[str], found: set[str]) -> None:
    assert {run.folder.run_id for run in select(words, store)} == found


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("norm=lm", "norm 'lm' does not exist in these runs; did you mean 'ln'? Allowed: bn, ln, rms."),
        ("nrom=ln", "key 'nrom' does not exist; did you mean 'norm'?"),
        ("norm.epss=1", "key 'norm.epss' does not exist; did you mean 'norm.eps'?"),
        ("optim.lr<1e-9", "no run satisfies 'optim.lr<1e-9'; optim.lr is 0.001, 0.003 here."),
        ("optim.lr<bn", "'optim.lr<bn': < compares with one number."),
        ("norm=", "'norm=' is not understood; write key=value"),
        ("norm.affine=1", "norm.affine '1' does not exist in these runs."),
        ("2026-11-30_a", "sweep '2026-11-30_a' does not exist as a folder or in "),
        ("2026-11-30_a", "; did you mean '2026-11-29_a'? Allowed: 2026-11-29_a."),
    ],
)
def test_a_mistake_names_what_there_is(store: Path, word: str, message: str) -> None:
    (store.parent / "sweeps" / "2026-11-29_a").mkdir(parents=True)
    with pytest.raises(ConfigError) as error:
        select([word], store)
    assert message in str(error.value)


def test_a_store_without_runs_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"no run in {tmp_path}"):
        select([], tmp_path)


def test_a_sweep_is_its_jobs_by_folder_and_by_name(store: Path) -> None:
    sweep = store.parent / "sweeps" / "mine"
    for number, run_id in enumerate(("bn1e-3", "ln1e-3", "lost")):
        write_text(sweep / str(number) / "job.json", f'{{"run_id": "{run_id}"}}')
    write_text(sweep / "3" / "job.json", '{"number": 3, "status": "crashed"}')
    for word in (str(sweep), "mine"):
        assert {run.folder.run_id for run in select([word], store)} == {"bn1e-3", "ln1e-3"}
    assert {run.folder.run_id for run in select(["mine", "norm=ln"], store)} == {"ln1e-3"}
    (store.parent / "sweeps" / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"is no sweep: it holds no \*/job.json"):
        select(["empty"], store)


def test_a_damaged_run_is_left_out_and_said(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (store / "bn1e-3" / "summary.json").write_text("{", encoding="utf-8")
    assert "bn1e-3" not in {run.folder.run_id for run in select([], store)}
    assert f"{store / 'bn1e-3'} is left out" in capsys.readouterr().err


def compared(runs, pattern: str | None = None) -> dict[str, str]:
    arms = group(runs)
    return {arm.name: other.name for arm, other in zip(arms, references(arms, pattern), strict=True)}


def test_an_arm_is_compared_with_the_reference_at_its_own_rate(make_run) -> None:
    runs = [make_run(f"{norm}{lr}", norm=norm, lr=lr) for norm in ("bn", "ln") for lr in ("1e-3", "3e-3")]
    assert compared(runs) == {
        "bn lr=0.001": "ln lr=0.001",
        "bn lr=0.003": "ln lr=0.003",
        "ln lr=0.001": "ln lr=0.001",
        "ln lr=0.003": "ln lr=0.003",
    }
    assert set(compared(runs, "norm=bn,optim.lr=1e-3").values()) == {"bn lr=0.001"}
    with pytest.raises(ConfigError, match="reference 'norm=rms' does not exist among these arms"):
        compared(runs, "norm=rms")


def test_without_a_usual_reference_it_is_the_first_with_most_runs(make_run) -> None:
    runs = [make_run("a", norm="rms"), make_run("b", norm="bn"), make_run("c", norm="bn", seed=1)]
    assert set(compared(runs).values()) == {"bn"}
    runs += [make_run("d", norm="ln", placement="post")]
    assert set(compared(runs).values()) == {"ln post"}


def test_an_arm_on_another_text_is_not_compared(make_run) -> None:
    runs = [make_run("a", norm="ln"), make_run("b", norm="bn"), make_run("c", norm="bn")]
    config = runs[2].path / "config.yaml"
    config.write_text(config.read_text().replace("source: bbc", "source: reuters8"))
    assert compared(runs) == {"ln bbc": "ln bbc", "bn bbc": "ln bbc", "bn reuters8": "bn reuters8"}
