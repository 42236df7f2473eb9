"""Update ratios, gains with their alarms, spikes: by hand."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from normtrial.probes.base import Event, Probe
from normtrial.probes.gains import Gains
from normtrial.probes.spikes import LEAST, Spikes
from normtrial.probes.updates import UpdateRatios
from tests.norms.options import make


def test_update_ratio_by_hand() -> None:
    sites: dict[str, nn.Module] = {"a": nn.Linear(2, 1), "b": nn.Linear(1, 1, bias=False), "c": nn.GELU()}
    with torch.no_grad():
        for module, values in ((sites["a"], ([[3.0, 0.0]], [0.0])), (sites["b"], ([[0.0]],))):
            for parameter, value in zip(module.parameters(), values, strict=True):
                parameter.copy_(torch.tensor(value))
        probe = UpdateRatios(sites)
        assert probe.measure() == {}
        next(sites["a"].parameters()).copy_(torch.tensor([[3.0, 4.0]]))  # moves by 4, to length 5
        found = {name: float(value) for name, value in probe.after_update().items()}
        assert found == pytest.approx({"update/a/ratio": 0.8, "update/b/ratio": 0.0})
        probe.measure()
        next(sites["b"].parameters()).fill_(-2.0)
        assert float(probe.after_update()["update/b/ratio"]) == 1.0


def gains_of(*values: tuple[list[float], list[float]]) -> tuple[Gains, dict[str, nn.Module]]:
    sites: dict[str, nn.Module] = {}
    for at, (gain, shift) in enumerate(values):
        norm = make("ln", len(gain))
        assert norm.weight is not None
        assert norm.bias is not None
        norm.weight.data, norm.bias.data = torch.tensor(gain), torch.tensor(shift)
        sites[f"n{at}"] = norm
    return Gains(sites), sites


def row_of(probe: Probe) -> dict[str, float]:
    return {name: float(value) for name, value in probe.measure().items()}


def test_gain_and_shift_by_hand() -> None:
    probe, _ = gains_of(([1.0, 2.0, 3.0], [0.0, 0.0, -3.0]))
    expected = {"gain_mean": 2.0, "gain_sd": 1.0, "shift_mean": -1.0, "shift_sd": math.sqrt(3.0)}
    assert row_of(probe) == pytest.approx({f"affine/n0/{name}": value for name, value in expected.items()})


def test_norms_without_a_gain_of_each_feature_have_no_health() -> None:
    sites: dict[str, nn.Module] = {
        "s": make("scale", 4),
        "a": make("ada", 4),
        "n": make("none", 4),
        "l": nn.Linear(4, 4),
    }
    sites["free"] = make("ln", 4, affine=False, bias=False)
    assert Gains(sites).measure() == {}


def test_alarms_ring_when_a_site_leaves_its_band_and_once() -> None:
    probe, sites = gains_of(([0.1, 1.9], [0.0, 0.0]), ([0.1, 1.9], [0.2, 0.2]))  # sd 1.27: outside, not dead

    def ringing() -> dict[str, Event]:
        return {event[0]: event for event in probe.events(1.0, row_of(probe))}

    began = ringing()
    assert list(began) == ["alarm_gain_sd_outside"]
    assert began["alarm_gain_sd_outside"][1] is None, "two sites"
    assert list(began["alarm_gain_sd_outside"][2]["sites"]) == ["n0", "n1"]
    assert ringing() == {}, "it rings already"
    assert list(probe.events(1.0, {})) == [], "nothing was measured"

    shifts: Any = sites["n1"].bias
    shifts.data.fill_(-0.4)
    assert ringing()["alarm_shift_mean_outside"][1] == "n1"
    shifts.data.fill_(-1.5)
    state = probe.state()
    assert list(ringing()) == ["alarm_shift_mean_trouble"]
    shifts.data.fill_(0.0)
    assert ringing() == {}
    shifts.data.fill_(-0.4)
    assert list(ringing()) == ["alarm_shift_mean_outside"], "again, since it had come back"

    resumed = Gains(sites)
    resumed.load(state)
    assert list(resumed.events(1.0, row_of(resumed))) == [], "what rang before the checkpoint rings on"


def test_a_fresh_norm_is_dead_by_the_documents_and_healthy_by_its_mean() -> None:
    probe = Gains({"n": make("ln", 8)})
    kinds = [kind for kind, _, _ in probe.events(1.0, row_of(probe))]
    assert kinds == ["alarm_gain_sd_outside", "alarm_gain_sd_dead"]
    probe = Gains({"n": make("ln", 8, gamma_init=0.1)})
    kinds = [kind for kind, _, _ in probe.events(1.0, row_of(probe))]
    assert kinds[2:] == ["alarm_gain_mean_outside", "alarm_gain_mean_dead"]


def spikes_at(losses: list[float], probe: Spikes | None = None) -> list[int]:
    probe = probe or Spikes({})
    return [at for at, loss in enumerate(losses) if list(probe.events(loss, {}))]


def test_a_spike_is_ten_mads_above_the_median() -> None:
    usual = [1.0 + 0.1 * (-1) ** step for step in range(LEAST)]  # median 1, MAD 0.1
    assert spikes_at([*usual, 1.99]) == []
    assert spikes_at([*usual, 2.01]) == [LEAST]
    assert spikes_at([*usual, -9.0]) == [], "a fall is none"
    assert spikes_at([*usual, 9.0, 9.0, 1.0, 9.0]) == [LEAST, LEAST + 3], "a spike of two steps is one"
    assert spikes_at([*usual[1:], 9.0]) == [], "too few steps to know what is usual"
    assert spikes_at([*usual, math.nan, math.inf]) == [], "they have an event of their own"
    probe = Spikes({})
    (event,) = [event for loss in [*usual, 3.0] for event in probe.events(loss, {})]
    detail = {"loss_nats": 3.0, "median_nats": 1.0, "mad_nats": 0.1, "limit_nats": 2.0}
    assert event[:2] == ("spike", None)
    assert event[2] == pytest.approx(detail)


def test_a_loss_that_stands_still_has_no_spikes_in_its_last_digits() -> None:
    assert spikes_at([1.0] * 30 + [1.0 + 1e-6]) == []
    assert spikes_at([1.0] * 30 + [1.011]) == [30]


def test_the_window_forgets_and_a_checkpoint_does_not() -> None:
    falling = [10.0 * 0.9**step for step in range(100)]
    assert spikes_at([*falling, 1.0]) == [100], "10 is long forgotten"
    first, second = Spikes({}), Spikes({})
    spikes_at(falling, first)
    second.load(first.state())
    assert spikes_at([1.0, 1.0], second) == [0]
    third = Spikes({})
    third.load(second.state())
    assert spikes_at([1.0], third) == [], "still the same spike"
