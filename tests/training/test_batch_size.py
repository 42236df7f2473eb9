"""The batch size of evaluation changes no prediction, of no norm but those that evaluate by their batch."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.config.shipped import shipped
from normtrial.data import catalogue
from normtrial.data.view import View
from normtrial.norms.base import NormConfig
from normtrial.norms.catalogue import NORMS
from normtrial.training.evaluation.predict import predict
from tests.network.models import disturb
from tests.norms.draws import on_the_way
from tests.norms.options import has, label
from tests.support import SOTU

SIZES = (1, 3, 16)
LONG = ["data.max_len=900"]  # so that some of bbc's documents are padded
CASES = [
    *((name, {}) for name in NORMS),
    *((name, {"eval_stats": "batch"}) for name in NORMS if has(name, "eval_stats")),
]


def depends(norm: NormConfig, padded: bool) -> bool:
    """By the statistics of other examples, or by padding, of which a larger batch has more."""
    cls = NORMS[norm.name]
    return cls.evaluates_with_batch(norm) and (cls.mixes_examples(norm) or (padded and cls.sees_padding(norm)))


@pytest.mark.parametrize("task", ["classification", "lm"])
@pytest.mark.parametrize(("name", "changes"), CASES, ids=label)
def test_batch_size_of_evaluation(
    name: str, changes: dict[str, str], task: str, trial: Callable[..., Config], cache: Path
) -> None:
    config = replace(trial(*(SOTU if task == "lm" else LONG)), norm=replace(shipped(name), **changes))
    data = catalogue.load(config.data, cache)
    network = disturb(run.build_model(config, data)).train()
    batch = data.train_batch(0, 0)
    network(batch.tokens_BL, batch.mask_BL)  # running statistics that are those of no batch below
    for norm in network.norms():
        on_the_way(norm)
    found = [predict(network, data.eval_batches("val", View(batch_size=size)), data.task).loss for size in SIZES]
    padded = any(
        b.mask_BL is not None and not b.mask_BL.all() for b in data.eval_batches("val", View(batch_size=16))
    )
    assert padded == (task == "classification")
    apart = max(np.abs(loss - found[0]).max() for loss in found[1:])
    if depends(config.norm, padded):
        assert apart > 1e-3, (
            "it was expected to depend on the batch, and this test would not notice others that do"
        )
    else:
        assert apart < 1e-5
