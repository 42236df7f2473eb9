"""What several folders of tests share: prepared text, configurations, and training on one thread."""

import functools
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from normtrial import run
from normtrial.config import Config, Job, compose
from normtrial.data.sources.packages import ARCHIVES
from tests.support import ROOT, TINY, command

torch.set_num_threads(1)  # pytest has a worker a core already


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where tokenized text is kept; everybody asks for the same vocabularies. Fetched packages are the user's."""
    folder = tmp_path_factory.mktemp("data-cache")
    (folder / ARCHIVES).symlink_to(ROOT / "results" / "cache" / ARCHIVES)
    return folder


@pytest.fixture(scope="session")
def configure() -> Callable[..., Config]:
    """The checked configuration of a command line; overrides alone are composed, in a third of the time."""

    @functools.cache
    def configured(*arguments: str) -> Config:
        if not any(argument.startswith("--") for argument in arguments):
            return compose(*arguments)
        found: list[Config] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "execute", lambda config, job: found.append(config))
            answer = command(*arguments)
        assert answer.code == 0, answer.message
        return found[0]

    return configured


@pytest.fixture
def trial(configure: Callable[..., Config], cache: Path, tmp_path: Path) -> Callable[..., Config]:
    """A tiny trial on real text, with the given changes; its store is this test's own, unless they name one."""

    def changed(*changes: str) -> Config:
        config = configure(*TINY, *changes)  # composed once; folders are no part of what is shared
        named = any(change.startswith("store=") for change in changes)
        return replace(config, cache=str(cache), store=config.store if named else str(tmp_path / "store"))

    return changed


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Config], float | None]]:
    """Train in this process on one thread, without drawing; signal handlers are given back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(run, "draw_curves", lambda folder: None)
    yield lambda config: run.execute(config, Job(parallel=True))
    for number, handler in before.items():
        signal.signal(number, handler)
