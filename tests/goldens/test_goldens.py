"""Ten steps of training give the numbers they gave before: what refactors must leave as it is.

Not bit for bit: other processors and torch builds add in another order, and ten steps carry a difference of
1e-7 to some 1e-5. A changed formula shows in the first digits.
"""

import math

import pytest

from tests.goldens.trajectories import NUM_STEPS, names, read, trajectory, write

TOLERANCE = 1e-4
ALIKE = {
    "none": "placements that only move a norm are the same without one",
    "rms_half": "in float32 it is rms",
    "rms_eps_out": "its eps shows at zero tokens only, not in seven digits of a loss; nor that of",
    "ln_std_eps_biased": "at constant ones",
}


@pytest.mark.parametrize("name", names())
def test_ten_steps_are_as_before(name: str) -> None:
    kept = read()
    if name not in kept:
        pytest.fail(f"no golden numbers yet; write them: python -m tests.goldens.rewrite {name}", pytrace=False)
    for key, values in trajectory(name).items():
        assert len(values) == NUM_STEPS
        assert values == pytest.approx(kept[name][key], rel=TOLERANCE), key


def test_nothing_is_kept_of_arms_that_no_longer_exist() -> None:
    stale = read().keys() - set(names())
    assert not stale, f"drop them: python -m tests.goldens.rewrite; stale: {sorted(stale)}"


def test_kept_numbers_tell_arms_apart_and_are_finite() -> None:
    kept = read()
    for task in {name.split("/")[-1] for name in kept}:
        lasts = {name: steps["loss_nats"][-1] for name, steps in kept.items() if name.endswith(f"/{task}")}
        assert all(map(math.isfinite, lasts.values()))
        apart = [last for name, last in lasts.items() if name.split("/")[0] not in ALIKE]
        assert len(set(apart)) == len(apart), "two arms are the same: a switch is dead"


def test_file_is_written_as_it_is_read(tmp_path, monkeypatch) -> None:
    kept = read()
    monkeypatch.setattr("tests.goldens.trajectories.FILE", tmp_path / "steps.json")
    write(kept)
    assert read() == kept
