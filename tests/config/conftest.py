"""Mistakes are answered before anything is read."""

import pytest

from normtrial import run


@pytest.fixture
def stop_before_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading data fails the test."""
    monkeypatch.setattr(run.catalogue, "load", lambda config, cache: pytest.fail("the mistake was accepted"))
