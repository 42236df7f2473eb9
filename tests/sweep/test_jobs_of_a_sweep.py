"""Grids and arms become lists of overrides, and each is composed as Hydra would."""

import dataclasses
from typing import Any

import pytest

from normtrial import run
from normtrial.config import Config, as_dict, load
from normtrial.config.multirun import Composer, jobs_of, sweeper_of
from normtrial.errors import ConfigError
from normtrial.help import CONF
from tests.support import command


@pytest.fixture(scope="module")
def sweeper() -> Any:
    with sweeper_of(run.main, ["seed=0"]) as found:
        return found


@pytest.fixture(scope="module")
def loader(sweeper: Any) -> Any:
    return sweeper.hydra_context.config_loader


def test_every_arm_comes_first_with_the_first_seed(loader: Any) -> None:
    jobs = jobs_of(["seed=0,1", "train.steps=7"], ["norm=ln", "norm=bn norm.padding=include"], loader)
    assert jobs == [
        ["seed=0", "train.steps=7", "norm=ln"],
        ["seed=0", "train.steps=7", "norm=bn", "norm.padding=include"],
        ["seed=1", "train.steps=7", "norm=ln"],
        ["seed=1", "train.steps=7", "norm=bn", "norm.padding=include"],
    ]


def test_an_arm_may_have_lists_of_its_own_in_hydras_syntax(loader: Any) -> None:
    jobs = jobs_of([], ["norm=ln optim.lr=1e-3,3e-3", "norm=bn seed=range(2)"], loader)
    assert jobs == [
        ["norm=ln", "optim.lr=0.001"],
        ["norm=ln", "optim.lr=0.003"],
        ["norm=bn", "seed=0"],
        ["norm=bn", "seed=1"],
    ]


def test_what_an_arm_sets_the_command_line_does_not(loader: Any) -> None:
    with pytest.raises(
        ConfigError, match="norm is set by the arm 'norm=bn' and on the command line; leave out one"
    ):
        jobs_of(["norm=ln,rms"], ["norm=bn"], loader)


JOBS = [
    [],
    ["norm=bn", "norm.eps=1e-3", "seed=3"],
    ["norm=bn", "norm.eps=1e-05", "seed=4", "optim.lr=0.01"],
    ["data=sotu", "placement=post", "norm=rms", "eval.noise=[0.5,1]"],
    ["experiment=quick_look", "seed=1", "train.steps=3"],
    ["log=file", "model=small", "model.num_layers=1", "data.limit=null"],
    ["norm=bn", "norm.eps=1e-3", "seed=3", "norm.eps=1e-2"],
]


@pytest.mark.parametrize("overrides", JOBS, ids=" ".join)
def test_it_is_what_hydra_composes(sweeper: Any, loader: Any, overrides: list[str]) -> None:
    composer = Composer(loader, sweeper.config)
    for others in JOBS[:3]:
        composer.compose(others)  # leave no trace
    whole = load(loader.load_sweep_config(sweeper.config, overrides))
    assert as_dict(composer.compose(overrides)) == as_dict(whole)
    assert type(composer.compose(overrides).norm) is type(whole.norm)


RECIPES = [path.stem for path in (CONF / "experiment").glob("*.yaml") if "  arms:" in path.read_text("utf-8")]


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_arm_of_a_recipe_composes(recipe: str) -> None:
    with sweeper_of(run.main, [f"experiment={recipe}"]) as sweeper:
        loader = sweeper.hydra_context.config_loader
        jobs = jobs_of([f"experiment={recipe}"], list(sweeper.config.sweep.arms), loader)
        arms = {makes_it(Composer(loader, sweeper.config).compose(job)) for job in jobs}
    assert len(arms) == len(jobs) > 1


def makes_it(config: Config) -> str:
    return repr(dataclasses.replace(config, sweep=dataclasses.replace(config.sweep, arms=[])))


def test_values_share_a_composition_and_files_do_not(
    sweeper: Any, loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    composed: list[list[str]] = []
    whole = loader.load_sweep_config
    monkeypatch.setattr(
        loader, "load_sweep_config", lambda master, files: composed.append(files) or whole(master, files)
    )
    composer = Composer(loader, sweeper.config)
    for norm in ("bn", "ln"):
        for seed in range(5):
            assert composer.compose([f"norm={norm}", f"seed={seed}"]).seed == seed
    assert composed == [["norm=bn"], ["norm=ln"]]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "sweep.dry_run=true",
            "sweep.dry_run=true would change nothing in a single run; write python train.py -m …",
        ),
        (
            'sweep.on_failure=stop sweep.arms=["norm=ln"]',
            "sweep.on_failure=stop and sweep.arms (here 1) would change nothing in a single run; "
            "write python train.py -m …",
        ),
        (
            "sweep.on_failure=halt",
            "sweep.on_failure 'halt' does not exist. Allowed: continue, stop.",
        ),
        (
            '-m sweep.arms=["norm=ln","norm=lm"]',
            "norm 'lm' does not exist; did you mean 'ln'?",
        ),
        (
            '-m sweep.arms=["norm=bn","norm.epss=1"]',
            "key 'norm.epss' does not exist",
        ),
    ],
)
def test_mistakes_are_found_before_anything_is_read(
    typed: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normtrial.data.catalogue.fingerprint", lambda config, cache: "some text")
    given = command(*typed.split(" "))
    assert given.code == 1
    assert given.message.startswith(f"normtrial: {message}")


@pytest.mark.parametrize("eps", ["1e-5", "1e-05", "1.0e-5", "0.00001"])
def test_a_number_is_that_number_however_it_is_written(sweeper: Any, loader: Any, eps: str) -> None:
    """B57: from a sweep; as text, `1e-5` in YAML is a string to some readers."""
    composer = Composer(loader, sweeper.config)
    (job,) = jobs_of([], [f"norm=bn norm.eps={eps}"], loader)
    assert as_dict(composer.compose(job))["norm"]["eps"] == 1e-5
