"""README's commands run as they are typed there: briefly in the quick suite, in full among the slow tests."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from normtrial.records import list_runs
from tests.support import ROOT, SOTU, TINY, answer, start_process

README = (ROOT / "README.md").read_text(encoding="utf-8")
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [part.strip() for block in BLOCKS for line in block.splitlines() for part in line.split("&&")]
TRAINING = [shlex.split(command)[2:] for command in COMMANDS if command.startswith("python train.py")]

# The sweep and the local repository of the Hub have quick tests of their own, with fewer jobs.
BRIEFLY = [
    pytest.param(arguments, marks=[pytest.mark.slow] if {"-m", "data=hub"} & set(arguments) else [])
    for arguments in TRAINING
]


def shortened(arguments: list[str], cache: Path, store: Path) -> list[str]:
    """The same command on a tiny trial; what README sets itself stays as it is."""
    sizes = [*TINY, *(SOTU[1:] if "data=sotu" in arguments else [])]
    typed = {argument.split("=")[0] for argument in arguments} - {"train.steps", "optim.warmup_steps"}
    kept = [size for size in sizes if size.split("=")[0] not in typed]
    sweep = [f"hydra.sweep.dir={store / 'sweep'}"] if "-m" in arguments else []
    return [*arguments, *kept, *sweep, f"cache={cache}", f"store={store}"]


def test_readme_has_the_commands_that_this_checks() -> None:
    assert len(TRAINING) >= 5
    assert sum("-m" in arguments for arguments in TRAINING) >= 1


@pytest.mark.parametrize("arguments", BRIEFLY, ids=" ".join)
def test_a_training_command_runs(arguments: list[str], cache: Path, tmp_path: Path) -> None:
    given = answer(start_process(*shortened(arguments, cache, tmp_path)))
    assert given.code == 0, given.err
    if not {"--cfg", "--show-wiring", "sweep.dry_run=true"} & set(arguments):
        assert list_runs(tmp_path)


def test_the_table_of_properties_is_the_measured_one() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "properties.py"), "--markdown"]
    measured = subprocess.run(script, capture_output=True, text=True, check=True).stdout.strip()
    assert measured in README, "paste it from: python scripts/properties.py --markdown"


@pytest.mark.parametrize("command", [command for command in COMMANDS if not command.startswith("python train.py")])
def test_installing_and_testing_is_what_ci_does(command: str) -> None:
    if command == "python -m pip install -c constraints.txt -e .":
        command = "python -m pip install -c constraints.txt -e '.[dev]'"  # the same with the tools of the tests
    assert command in CI.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", TRAINING, ids=" ".join)
def test_a_training_command_runs_in_full(arguments: list[str], cache: Path, tmp_path: Path) -> None:
    sweep = [f"hydra.sweep.dir={tmp_path / 'sweep'}"] if "-m" in arguments else []
    given = answer(start_process(*arguments, *sweep, f"cache={cache}", f"store={tmp_path}"), timeout=1800)
    assert given.code == 0, given.err
