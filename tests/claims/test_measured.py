"""Exact and cost claims: every check runs and says today what results/claims/ keeps of it."""

import json
import time
from dataclasses import replace

import pytest
import torch

from normtrial.claims import cost, exact, measure
from normtrial.claims.claim.load import load_claims
from normtrial.claims.claim.model import CostClaim, ExactClaim, MeasuredClaim, Part
from normtrial.claims.command import judge_all
from normtrial.claims.judging import measured
from normtrial.claims.judging.judged import Judgement
from normtrial.errors import ConfigError
from normtrial.report.inference import Interval
from tests.support import ROOT

CLAIMS = {name: one for name, one in load_claims().items() if isinstance(one, MeasuredClaim)}
EXACT = [name for name, one in CLAIMS.items() if isinstance(one, ExactClaim)]
KEPT = json.loads((ROOT / "results" / "claims" / "verdicts.json").read_text(encoding="utf-8"))
QUICK = ["rms_and_layer_norm_bytes", "batch_over_layer_norm_bytes", "bytes_by_length"]


def judgement(claim: MeasuredClaim, parts: dict[str, list[float]], tmp_path) -> Judgement:
    measured.write(tmp_path, {claim.id: parts}, {claim.id: ""})
    return measured.judge([claim], tmp_path)[0]


SLOW = ("L01",)  # deep stacks in float64


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=[pytest.mark.slow] if one in SLOW else []) for one in EXACT]
)
def test_a_check_says_what_it_said(name: str, tmp_path) -> None:
    claim = CLAIMS[name]
    found = judgement(claim, measure.measured_parts(claim), tmp_path)
    assert [one.verdict for one in found.findings] == [one["verdict"] for one in KEPT[name]["findings"]]


@pytest.mark.parametrize("claim", [one for one in CLAIMS.values() if one.measure in QUICK], ids=lambda c: c.id)
def test_bytes_are_what_they_were(claim: MeasuredClaim, tmp_path) -> None:
    found = judgement(claim, measure.measured_parts(claim), tmp_path)
    assert [one.effect for one in found.findings] == [one["effect"] for one in KEPT[claim.id]["findings"]]


def test_times_are_taken_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "NUM_PAIRS", 3)
    monkeypatch.setattr(cost, "A_TURN_S", 0.001)
    x = torch.randn(4, 16, 8).requires_grad_()

    def slow(x: torch.Tensor) -> torch.Tensor:
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
        return x * 2

    found = cost.ratios(lambda x: x * 2, slow, x)
    assert len(found) == 3 and min(found) > 2


def test_bytes_are_those_that_autograd_keeps() -> None:
    x = torch.randn(4, 16, 8).requires_grad_()
    assert cost.saved_bytes(lambda x: x * 2, x) == 0
    assert cost.saved_bytes(lambda x: x.exp(), x) == 4 * 16 * 8 * 4  # its output
    assert cost.saved_bytes(lambda x: x.exp().square() + x.sin(), x) == 2 * 4 * 16 * 8 * 4


def test_every_measurement_belongs_to_a_claim() -> None:
    used = {one.measure for one in CLAIMS.values()}
    assert used == set(exact.MEASURES) | set(cost.MEASURES)


def test_a_wrong_name_is_answered() -> None:
    claim = CLAIMS["C08"]
    wrong = replace(claim, measure="frmula")
    with pytest.raises(ConfigError, match=r"C08: measure 'frmula' does not exist; did you mean 'formula'\?"):
        measure.measured_parts(wrong)


@pytest.mark.parametrize(
    ("part", "interval", "holds"),
    [
        (Part(says="", value=1.0, tolerance=0.1), Interval(1.0, 1.0, 1.0), True),
        (Part(says="", value=1.0, tolerance=0.1), Interval(1.2, 1.2, 1.2), False),
        (Part(says="", at_least=1.0), Interval(1.2, 0.9, 1.5), None),
        (Part(says="", at_most=1.0), Interval(0.8, 0.7, 0.9), True),
        (Part(says="", at_least=0.0), Interval(float("nan"), float("nan"), float("nan")), False),
        (Part(says="", at_least=0.0), Interval(float("inf"), float("inf"), float("inf")), True),
    ],
)
def test_a_part_is_held_against_its_whole_interval(part: Part, interval: Interval, holds: bool | None) -> None:
    assert part.holds(interval) is holds


def test_the_kept_verdicts_are_those_of_the_kept_measurements() -> None:
    judged = judge_all(load_claims(), ROOT / "results" / "claims")
    assert {one.id: one.verdict for one in judged} == {name: one["verdict"] for name, one in KEPT.items()}
    assert all(isinstance(one, CostClaim | ExactClaim) for one in CLAIMS.values())
