"""Ratios of pairs, with a clock that runs as told."""

import pytest

from normtrial.benchmark.pairs import paired_ratios, ratios_of_short


def test_a_busy_machine_and_a_slow_start_do_not_show() -> None:
    now, order = 0.0, []

    def work(name: str, seconds: float) -> None:
        nonlocal now
        pair = len(order) // 2
        order.append(name)
        now += seconds * (1 + 10 * pair) + (100 if len(order) == 1 else 0)

    ratios = paired_ratios(lambda: work("a", 2.0), lambda: work("b", 3.0), 3, clock=lambda: now)
    assert ratios == pytest.approx([1.5] * 3)
    assert order == ["b", "a", "a", "b", "b", "a", "a", "b"]


def test_what_is_too_short_is_called_until_it_can_be_timed() -> None:
    now, calls = 0.0, {"a": 0, "b": 0}

    def work(name: str, seconds: float) -> None:
        nonlocal now
        calls[name] += 1
        now += seconds

    ratios, seconds = ratios_of_short(lambda: work("a", 0.001), lambda: work("b", 0.003), 2, clock=lambda: now)
    assert ratios == pytest.approx([3.0] * 2)
    assert seconds == pytest.approx(0.003)
    assert calls["a"] >= 3 * 20, "20 ms a turn, and there were three"
