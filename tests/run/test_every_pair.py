"""Every norm in every placement trains on both tasks; what cannot be is refused before any data is read."""

from collections.abc import Callable

import pytest

from normtrial import run
from normtrial.config import Config
from normtrial.errors import ConfigError
from normtrial.norms.catalogue import NORMS
from normtrial.placements.catalogue import PLACEMENTS
from tests.norms.options import NORM_FREE, legal, settings
from tests.support import SOTU, TINY, command

TASKS = {"classification": [], "lm": SOTU}


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("norm", NORMS)
def test_five_steps(
    norm: str, placement: str, task: str, trial: Callable[..., Config], train: Callable[[Config], float | None]
) -> None:
    if placement in NORM_FREE and norm != "none":
        pytest.skip("refused; tested below")
    if not legal(norm, task):
        assert task == "lm", "only a causal language model refuses a norm"
        pytest.skip(f"{norm} is refused for {task}; tested below")
    choices = [f"norm={norm}", f"placement={placement}", *TASKS[task]]
    # As wide as the smallest preset: of 16 features `prms` looks at one, and behind two more norms that diverges.
    choices.append("model.d_model=64")
    config = trial(*choices, "train.steps=5", "train.eval_every=5", "data.limit=8", "model.num_layers=2")
    assert train(config) is not None


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.catalogue, "load", lambda config, cache: pytest.fail("data was read"))


@pytest.mark.parametrize("placement", NORM_FREE)
@pytest.mark.parametrize("norm", [name for name in NORMS if name != "none"])
def test_a_norm_where_none_stands_is_refused(norm: str, placement: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        settings(f"norm={norm}", values={"placement.name": placement})
    assert f"placement={placement} has no norm, so norm={norm} would change nothing." in str(refusal.value)


@pytest.mark.parametrize("placement", NORM_FREE)
def test_a_placement_without_norms_says_what_to_write(placement: str, no_data: None) -> None:
    given = command(*TINY, f"placement={placement}")
    assert given.code == 1
    assert f"norm=ln would change nothing. Write norm=none placement={placement};" in given.message


@pytest.mark.parametrize("norm", NORMS)
def test_an_illegal_pair_fails_with_a_message_before_data_is_read(norm: str, no_data: None) -> None:
    if legal(norm, "lm"):
        pytest.skip(f"{norm} is legal for a language model")
    given = command(*TINY, f"norm={norm}", *TASKS["lm"])
    assert given.code == 1
    assert "would see the future" in given.message
