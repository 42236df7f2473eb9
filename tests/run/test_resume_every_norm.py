"""k steps and then N - k are N steps, bit for bit, whatever norm stands in the model: losses, buffers, weights."""

import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from normtrial.data.batch import Batch
from normtrial.identity import weights_digest
from normtrial.norms.catalogue import NORMS
from normtrial.records import RunFolder
from normtrial.training.loop import Loop
from tests.network.models import CLASSES, build, lengths_mask, small, tokens
from tests.training.toy import RandomText, make_loop
from tests.training.toy import run as finish

STEPS, FIRST = 5, 2


class Padded(RandomText):
    """Batches of four texts of unequal length, by number."""

    def train_batch(self, step: int, seed: int) -> Batch:
        tokens_BL = tokens(100 * seed + step)
        return Batch(tokens_BL, lengths_mask([7, 4, 2, 6], 7), tokens_BL[:, 0] % CLASSES)


def loop_of(norm: str, half: bool, folder: Path, steps_now: int = STEPS, **changes: Any) -> Loop:
    """A loop that is asked to stop after so many steps; it finds the generators anywhere."""
    for draw in (torch.rand, np.random.rand, lambda n: [random.random() for _ in range(n)]):
        draw(steps_now)
    model = build(small(norm, "post", model__dropout=0.3, model__num_layers=1, **changes))
    taken = iter(range(1, STEPS + 1))
    return make_loop(
        folder, {"steps": STEPS, "log_every": 1, "eval_every": 2},
        model=model, data=Padded(), penalty=model.penalty, stop_requested=lambda: next(taken) == steps_now,
        computing=(lambda: torch.autocast("cpu", torch.bfloat16)) if half else nullcontext,
    )  # fmt: skip


def rows(folder: Path) -> list[dict[str, Any]]:
    """What was logged, without what the clock says."""
    return [
        {name: value for name, value in row.items() if not name.startswith(("time/", "throughput/", "memory/"))}
        for row in RunFolder(folder).read_metrics()
    ]


QUICK = [(name, False) for name, cls in NORMS.items() if "B" in cls.reduces]  # with state
QUICK += [(name, True) for name in ("bn", "ln", "ada", "dyt")]  # and one of each kind
CASES = [
    pytest.param(norm, half, marks=() if (norm, half) in QUICK else pytest.mark.slow)
    for norm in NORMS
    for half in (False, True)
]


@pytest.mark.parametrize(("norm", "half"), CASES)
def test_a_resumed_run_is_the_undisturbed_one(norm: str, half: bool, tmp_path: Path) -> None:
    whole = loop_of(norm, half, tmp_path / "whole")
    assert finish(whole) == ("finished", None)
    begun = loop_of(norm, half, tmp_path / "begun", FIRST)
    assert finish(begun) == ("interrupted", "asked to stop")
    assert weights_digest(begun.s.model) != weights_digest(whole.s.model)
    state = begun.s.checkpoints.latest()
    assert state is not None
    rest = loop_of(norm, half, tmp_path / "rest")
    rest = Loop(rest.s, state)
    assert finish(rest) == ("finished", None)
    found, expected = rest.s.model.state_dict(), whole.s.model.state_dict()
    assert [name for name, value in expected.items() if not torch.equal(found[name], value)] == []
    assert weights_digest(rest.s.model) == weights_digest(whole.s.model)
    assert rows(tmp_path / "begun") + rows(tmp_path / "rest") == rows(tmp_path / "whole")
    assert len(rows(tmp_path / "rest")) > STEPS - FIRST, "with evaluations"
