"""A run whose activations are computed twice logs what the other logs: losses, every probe, what went wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from normtrial.config import Config
from normtrial.records import list_runs
from tests.support import comparable


@pytest.mark.parametrize(
    "changes", [["optim.lr=1e-3"], ["optim.lr=1e30", "optim.clip=null"]], ids=["well", "diverging"]
)
def test_activation_checkpointing_shows_in_no_number(
    changes: list[str],
    trial: Callable[..., Config],
    train: Callable[[Config], float | None],
    tmp_path: Path,
) -> None:
    found: list[Any] = []
    for again in ("true", "false"):
        store = tmp_path / again
        train(trial("norm=rbn", "probe=all", *changes, f"model.checkpoint_activations={again}", f"store={store}"))
        (folder,) = list_runs(store)
        summary = folder.read_summary()
        assert summary is not None
        found.append((comparable(folder), folder.read_events(), summary["model"]["weights_sha256"]))
    assert found[0] == found[1]
    kinds = [event["kind"] for event in found[0][1]]
    assert any(kind.startswith("nonfinite") for kind in kinds) == ("optim.lr=1e30" in changes), kinds
