"""The command line of the benchmarks."""

import runpy
from types import SimpleNamespace
from typing import Any

import pytest

from normtrial.errors import ConfigError
from tests.support import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts" / "benchmark.py"))
COMMANDS: dict[str, Any] = SCRIPT["COMMANDS"]


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        SCRIPT["main"]([name, "--help"])
    out = capsys.readouterr().out
    assert COMMANDS[name].__doc__.splitlines()[0] in out
    assert all(option in out for option in ("--pairs", "--threads", "--cpu-time", "--out"))


def test_few_pairs_are_refused_before_anything_is_measured() -> None:
    with pytest.raises(ConfigError, match="--pairs=6 must be at least 7"):
        SCRIPT["main"](["overhead", "--pairs", "6"])


def test_overrides_may_stand_between_options(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def run(arguments: Any) -> None:
        given.append(arguments)
        raise InterruptedError

    module = SimpleNamespace(run=run, add_arguments=COMMANDS["overhead"].add_arguments, __doc__="Something.")
    monkeypatch.setitem(COMMANDS, "overhead", module)
    with pytest.raises(InterruptedError):
        SCRIPT["main"](["overhead", "norm=bn", "--pairs", "7", "data=bbc", "--threads", "1"])
    assert given[0].overrides == ["norm=bn", "data=bbc"]


def test_an_unknown_option_is_no_override(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        SCRIPT["main"](["overhead", "--pears", "9"])
    assert "--pears" in capsys.readouterr().err
