"""Values arrive as they were written; every option and recipe makes a configuration; `--help` names them all."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from normtrial.config import Config, as_dict, as_yaml
from normtrial.config.schema import GROUPS
from normtrial.help import CONF, FOREIGN, describe
from tests.norms.options import chosen
from tests.support import ROOT, command

OPTIONS = sorted(path for group in GROUPS for path in (CONF / group).glob("*.yaml"))
SPELLINGS = ("1e-5", "1e-05", "1.0e-5", "0.00001", "1E-5")


def eps(config: Config) -> float:
    return as_dict(config)["norm"]["eps"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_small_number_is_the_same_however_it_is_written(
    spelling: str, configure: Callable[..., Config], tmp_path: Path
) -> None:
    """B57: from file, command line and recipe."""
    (tmp_path / "experiment").mkdir()
    recipe = tmp_path / "experiment" / "mine.yaml"
    recipe.write_text(f"# @package _global_\nnorm: {{eps: {spelling}}}\n", encoding="utf-8")
    typed = configure("norm=rms", f"norm.eps={spelling}")
    written = configure("--config-dir", str(tmp_path), "norm=rms", "experiment=mine")
    saved = OmegaConf.create(as_yaml(typed))
    for value in (eps(typed), eps(written), saved.norm.eps):
        assert type(value) is float
        assert value == 1e-5


def test_a_saved_configuration_reads_back_equal(configure: Callable[..., Config], tmp_path: Path) -> None:
    config = configure("norm=bn", "optim.lr=3e-4", "optim.weight_decay=1e-2", "norm.eps=1e-12", "log.tags=[a,b c]")
    path = tmp_path / "config.yaml"
    path.write_text(as_yaml(config), encoding="utf-8")
    assert OmegaConf.to_container(OmegaConf.load(path)) == as_dict(config)


def test_every_group_has_options_on_disk() -> None:
    assert {path.parent.name for path in OPTIONS} == set(GROUPS)
    folders = {path.name for path in CONF.iterdir() if path.is_dir()}
    assert folders - set(FOREIGN) == set(GROUPS), "a folder that no group knows cannot be chosen"


@pytest.mark.parametrize("path", OPTIONS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_option_and_recipe_composes(path: Path, configure: Callable[..., Config]) -> None:
    text = path.read_text("utf-8")
    needs = ["data.path=x"] if path.parent.name == "data" and "path: ???" in text else []
    needs += ["sweep.arms=[]"] if "  arms:" in text else []  # which tests/sweep/test_jobs_of_a_sweep.py composes
    config = configure(*chosen(path.parent.name, path.stem), *needs)
    part = getattr(config, path.parent.name, config)
    assert dataclasses.is_dataclass(part)
    assert describe(path), "its first comment is the line that --help shows"


def test_a_recipe_wins_over_options_and_the_command_line_over_both(
    configure: Callable[..., Config], tmp_path: Path
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\ndefaults: [{override /norm: bn}]\nnorm: {eps: 1e-3}\nseed: 7\ntrain: {steps: 50}\n",
        encoding="utf-8",
    )
    recipe = configure("--config-dir", str(tmp_path), "experiment=mine")
    assert (recipe.norm.name, eps(recipe), recipe.seed, recipe.train.steps) == ("bn", 1e-3, 7, 50)
    typed = configure("--config-dir", str(tmp_path), "experiment=mine", "seed=1", "norm=ln", "train.steps=60")
    assert (typed.norm.name, eps(typed), typed.seed, typed.train.steps) == ("ln", 1e-3, 1, 60)


def test_help_lists_every_group_and_option_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--help").code == 0
    page = capsys.readouterr().out
    assert not any(f"\n{name}=" in page for name in FOREIGN)
    for path in OPTIONS:
        section = page.split(f"\n{path.parent.name}=", 1)[1].split("\n\n")[0]
        assert re.search(rf"^  [* ] {path.stem} +{re.escape(describe(path))}$", section, re.MULTILINE), path
    default = re.findall(r"^  \* (\w+)", page, re.MULTILINE)
    assert {"ln", "pre", "tiny", "bbc", "adamw", "fp32", "wandb", "default"} == set(default)
    for key in ("seed", "store", "cache", "device", "rerun", "eval_every", "on_nonfinite"):
        assert key in page


def test_antlr_is_pinned_to_what_hydra_reads() -> None:
    """B59: with a newer runtime every import of Hydra fails, "Could not deserialize ATN"."""
    pinned = [line for line in metadata.requires("normtrial") or [] if line.startswith("antlr4")]
    assert pinned == ["antlr4-python3-runtime<4.10,>=4.9"]
    assert metadata.version("antlr4-python3-runtime").startswith("4.9.")


def test_help_does_not_wait_for_torch() -> None:
    code = "import sys, runpy; sys.argv = ['train.py', '--help']; runpy.run_path('train.py', run_name='__main__')"
    told = subprocess.run(
        [sys.executable, "-c", f"{code}; print('torch' in sys.modules)"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1] == "False"
