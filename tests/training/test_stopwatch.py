"""Ratios of pairs, with a clock that runs as told."""

import pytest

from normtrial.training.stopwatch import paired_ratios


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
