"""From a claim to its runs and back, with a trainer that makes runs up: what is started when, and what is kept."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from normtrial.claims.claim.training import TrainingClaim
from normtrial.claims.judging import evidence
from normtrial.claims.judging.judge import judge
from normtrial.claims.trials import launch
from normtrial.claims.trials.collect import Resolver, collect, planned, record_of
from normtrial.claims.trials.needs import Trial, canonical, judging, selecting
from normtrial.claims.trials.run import plan, run
from normtrial.config import as_yaml
from tests.claims.made import CLAIM, claim
from tests.support import TINY

TEXT = (
    CLAIM.replace("recipe: [model=tiny, data=reviews_zh]", f"recipe: [{', '.join(TINY[1:])}]")
    .replace("grid: []", "grid: [0.001, 0.003]")
    .replace("select: null", "select: val/accuracy")
)
BEST = {"ln": 0.003, "bn": 0.001, "none": 0.001}


class Trainer:
    """Writes the record of a run that has ended, as a run of its arm, rate and seed would be."""

    def __init__(self, resolver: Resolver, crashing: str = "never"):
        self.resolver, self.crashing, self.started = resolver, crashing, list[list[Trial]]()

    def __call__(self, trials: Iterable[Trial]) -> None:
        trials = list(trials)
        self.started.append(trials)
        for trial in trials:
            if self.crashing in trial.arm:
                continue
            config, folder = self.resolver.config(trial), self.resolver.folder(trial)
            rate, name = config.optim.lr, config.norm.name
            value = (
                {"ln": 0.8, "bn": 0.7, "none": 0.6}[name]
                + (0.05 if rate == BEST[name] else 0)
                + 0.001 * trial.seed
            )
            folder.path.mkdir(parents=True)
            (folder.path / "config.yaml").write_text(as_yaml(config), encoding="utf-8")
            rows = [
                {"step": 6, "val/accuracy": value, "train/loss_nats": 1.0},
                {"step": 6, "test/accuracy": value},
            ]
            folder.metrics_path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
            folder.write_json("meta.json", {"code_hash": "abc"})
            summary = {
                "status": "finished",
                "events": {},
                "steps": 6,
                "seconds": 36.0,
                "trivial": {"accuracy": 0.2},
            }
            folder.write_json("summary.json", summary)


@pytest.fixture
def made(tmp_path: Path, cache: Path) -> tuple[TrainingClaim, Path, Resolver]:
    resolver = Resolver([f"store={tmp_path / 'store'}", f"cache={cache}", "hydra/launcher=basic"])
    return claim(tmp_path, TEXT), tmp_path / "claims", resolver


def test_rates_are_chosen_first_then_judged_and_nothing_is_trained_twice(made, capsys) -> None:
    one, folder, resolver = made
    trainer = Trainer(resolver)
    found = run([one], [one], folder, resolver, trainer)
    assert [len(trials) for trials in trainer.started] == [3 * 2, 3 * 8]
    assert {trial.seed for trial in trainer.started[0]} == {100}
    assert judge([one], found)[0].primary_finding().rates == {"bn": 0.001, "ln": 0.003}
    assert judge([one], found)[0].verdict == "reproduced"
    assert set(next(iter(found.values())).series) == {"val/accuracy", "test/accuracy"}  # what the claim reads
    run([one], [one], folder, resolver, trainer)
    assert len(trainer.started) == 2
    assert plan([one], found) == []
    assert "30 runs,     0 left" in capsys.readouterr().out


def test_an_event_that_never_came_is_kept_as_none(made) -> None:
    one, folder, resolver = made
    trial = next(iter(run([one], [one], folder, resolver, Trainer(resolver))))
    done = resolver.folder(trial)
    with done.metrics_path.open("a", encoding="utf-8") as file:
        file.write('{"step": 6, "events/spike": 2}\n')
    summary = done.read_summary()
    assert summary is not None
    kept = record_of(trial, done, summary, ["events/dead_output", "events/spike", "val/x"], 6)
    assert kept.series == {"events/dead_output": [(6, 0.0)], "events/spike": [(6, 2.0)]}


def test_a_run_that_had_not_the_probes_is_no_run_of_the_claim(made, tmp_path: Path, capsys) -> None:
    one, folder, resolver = made
    run([one], [one], folder, resolver, Trainer(resolver))
    watching = TEXT.replace("recipe: [", 'recipe: ["probe.names=[gains]", ')
    other = claim(tmp_path, watching, "T2")
    found = run([other], [other], folder, resolver, lambda trials: None)
    assert found == {} and judge([other], found)[0].verdict == "pending"
    assert capsys.readouterr().out.count("was made without the probes gains: move it away") == 6


def test_what_crashes_is_tried_again_by_the_next_call_only(made) -> None:
    one, folder, resolver = made
    trainer = Trainer(resolver, crashing="norm=bn")
    found = run([one], [one], folder, resolver, trainer)
    assert judge([one], found)[0].verdict == "pending"
    assert sum("norm=bn" in trial.arm for trials in trainer.started for trial in trials) == 2
    trainer.crashing = "never"
    assert judge([one], run([one], [one], folder, resolver, trainer))[0].verdict == "reproduced"


def test_kept_numbers_outlive_the_store_but_not_a_change_of_configuration(made, tmp_path: Path) -> None:
    one, folder, resolver = made
    run([one], [one], folder, resolver, Trainer(resolver))
    before = (folder / evidence.FILE).read_bytes()
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    assert len(collect([one], [one], folder, resolver)) == 30
    assert (folder / evidence.FILE).read_bytes() == before
    changed = Resolver(
        [f"store={tmp_path / 'store'}", *(part for part in resolver._extra if "cache" in part), "train.steps=7"]
    )
    assert collect([one], [one], folder, changed) == {}


def test_a_kept_run_in_which_a_later_claim_reads_something_else_is_trained_again(made, tmp_path: Path) -> None:
    one, folder, resolver = made
    run([one], [one], folder, resolver, Trainer(resolver))
    (tmp_path / "store").rename(tmp_path / "elsewhere")
    later = claim(tmp_path, TEXT.replace("{metric: test/accuracy, read", "{metric: train/loss_nats, read"), "T2")
    found = collect([one, later], [one, later], folder, resolver)
    assert [one.verdict for one in judge([one, later], found)] == ["reproduced", "pending"]
    trainer = Trainer(resolver)
    run([one, later], [one, later], folder, resolver, trainer)
    assert [len(trials) for trials in trainer.started] == [3 * 8]  # what chose the rates is enough


def test_runs_of_claims_that_are_not_asked_for_stay(made, tmp_path: Path) -> None:
    one, folder, resolver = made
    other = claim(tmp_path, TEXT.replace("norm=bn", "norm=rms"), "T2")
    run([one], [one, other], folder, resolver, Trainer(resolver))
    assert len(collect([other], [one, other], folder, Resolver(resolver._extra))) == 30
    shared = collect([other], [other], folder, Resolver(resolver._extra))
    assert len(shared) == 2 * 2 + 2 * 8  # the two arms that both have: what nobody needs any more is dropped


def test_where_the_whole_grid_is_judged_no_rate_is_chosen(tmp_path: Path) -> None:
    text = CLAIM.replace("grid: []", "grid: [0.001, 0.002]").replace("select: null", "select: val/loss_nats")
    of_values = claim(tmp_path, text)
    assert len(list(selecting(of_values))) == 3 * 2
    text = text.replace("{metric: test/accuracy, read: final}", "{metric: val/loss_nats, read: largest_rate}")
    of_rates = claim(tmp_path, re.sub(r"gates:\n.*\n", "gates: {}\n", text))
    assert not list(selecting(of_rates))
    assert {trial.arm.split("optim.lr=")[1].split()[0] for trial in judging(of_rates, {})} == {"0.001", "0.002"}


def test_claims_share_runs(tmp_path: Path) -> None:
    one, other = claim(tmp_path, TEXT), claim(tmp_path, TEXT.replace("down, size: 0.07", "up, size: 0.05"), "T2")
    alone, _ = planned([one], {})
    together, later = planned([one, other], {})
    assert together == alone and len(later) == 3 * 8
    assert canonical("norm=ln", "placement=pre", "norm.eps=1") == canonical(
        "norm.eps=1", "placement=pre", "norm=ln"
    )


def test_trials_go_to_the_sweeper_as_one_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(launch, "run_arms", lambda arms, **options: found.append((arms, options)))
    trials = [Trial("norm=ln optim.lr=0.001", 1), Trial("norm=bn", 0)]
    launch.launch(trials, ["store=/elsewhere", "hydra/launcher=submitit_local"])
    arms = [["norm=ln", "optim.lr=0.001", "seed=1"], ["norm=bn", "seed=0"]]
    assert found == [(arms, {"common": ["log=file", "store=/elsewhere"], "launcher": "submitit_local"})]


@pytest.mark.slow
def test_trials_are_trained(tmp_path: Path, cache: Path) -> None:
    """By the sweeper itself, and found again."""
    extra = [f"store={tmp_path / 'store'}", f"cache={cache}", "hydra/launcher=basic"]
    trials = [
        Trial(canonical(*TINY[1:], f"norm={norm}", "placement=pre"), seed)
        for norm in ("ln", "bn")
        for seed in (0, 1)
    ]
    launch.launch(trials, extra)
    resolver = Resolver(extra)
    assert {(resolver.folder(trial).read_summary() or {}).get("status") for trial in trials} == {"finished"}
