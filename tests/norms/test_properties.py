"""Every norm in every placement does what its class declares; the table says so, and marks what does not.

Shapes: B examples, L positions, D model width.
"""

import runpy
import sys
from typing import Any

import pytest
from torch import Tensor, nn

from normtrial.config.shipped import shipped
from normtrial.norms.base import Norm
from normtrial.norms.catalogue import NORMS
from normtrial.norms.layer import LayerNorm
from normtrial.norms.properties import (
    COLUMNS,
    INVARIANCES,
    MORE_PADS,
    PLACES,
    D,
    L,
    measure,
    measure_invariances,
    predict,
    prepared,
    row,
)
from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import model
from tests.norms.options import PAIRS, label, make, options, variants
from tests.support import ROOT

SCRIPT = ROOT / "scripts" / "properties.py"


class Stack(nn.Module):
    """The blocks of a model and its final norm; in the place of attention a map of each token by itself."""

    def __init__(self, norm: str, placement: str):
        super().__init__()
        self.network = model(norm, placement, model__d_model=D, model__d_ff=D, data__max_len=L + MORE_PADS)
        for block in self.network.blocks:
            block.attention = Tokenwise()

    def forward(self, x_BLD: Tensor, mask_BL: Tensor, cond_BLD: Tensor) -> Tensor:
        return self.network.trunk(x_BLD, mask_BL, cond_BLD)


class Tokenwise(nn.Module):
    """Attention's signature, without attention."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(D, D)

    def forward(self, x_BLD: Tensor, mask_BL: Tensor | None = None, cond_BLD: Tensor | None = None) -> Tensor:
        return self.map(x_BLD)


@pytest.mark.parametrize(("norm", "placement"), PAIRS)
def test_a_stack_has_the_properties_that_its_norm_declares(norm: str, placement: str) -> None:
    """B45, and what else follows from the axes."""
    stack = Stack(norm, placement)
    has_norms = PLACEMENTS[placement].norm_sites() or stack.network.final_norm is not None
    declared = predict(options(norm if has_norms else "none"))
    assert measure(prepared(stack)) == {key: declared[key] for key in PLACES}


@pytest.mark.parametrize(("name", "changes"), variants(), ids=label)
def test_every_switch_has_the_properties_that_it_declares(name: str, changes: dict[str, Any]) -> None:
    config = options(name, **changes)
    norm = prepared(make(name, D, L if NORMS[name].fixed_length(config) else L + MORE_PADS, **changes))
    assert measure(norm) | measure_invariances(norm) == predict(config), (
        "declare it: scale_invariant, shift_invariant, reduces, or a method of Norm beside them"
    )


@pytest.mark.parametrize("name", NORMS)
def test_options_of_a_file_are_those_of_a_composed_trial(name: str) -> None:
    assert shipped(name) == options(name)


class Liar(LayerNorm):
    """Declares what it is not."""

    reduces, scale_invariant = "BLD", False


def test_a_wrong_declaration_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NORMS, "ln", Liar)
    assert set(row(options("ln")).disagreeing) == {"examples", "positions", "future", "train_eval", "scale"}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("ln", "2D"), ("rms", "D"), ("ada", "2D² + 2D"), ("ada_scalar", "2D + 2"), ("scale", "1"), ("none", "0")],
)
def test_parameters_are_counted_by_width(name: str, parameters: str) -> None:
    assert row(options(name)).parameters == parameters


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Any:
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *arguments])
    with pytest.raises(SystemExit) as ending:
        runpy.run_path(str(SCRIPT), run_name="__main__")
    return ending.value.code


def test_script_prints_every_norm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "--markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[1].strip(" `") for line in lines[2:]] == list(NORMS)
    assert all(len(line.split("|")) == len(COLUMNS) + 3 for line in lines)
    assert {*PLACES, *INVARIANCES} < set(COLUMNS)


def test_script_marks_what_is_not_as_declared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(NORMS, "ln", Liar)
    assert run(monkeypatch, "ln", "rms") == 1
    shown = capsys.readouterr().out
    assert shown.count("≠") == 5
    assert "rms" in shown


def test_script_answers_a_wrong_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "did you mean 'ln'" in run(monkeypatch, "lm")


def test_declarations_of_the_seam_are_documented() -> None:
    for fact in Norm.__annotations__.keys() - {"weight", "bias"}:
        assert f"{fact}:" in (Norm.__doc__ or "")
