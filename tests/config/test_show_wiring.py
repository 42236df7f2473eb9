"""`--show-wiring`: a configuration in words instead of a run; no data is read and nothing is written."""

import inspect
import re
from pathlib import Path

import pytest

from normtrial import run
from normtrial.network.wiring import DEPEND_ON_DATA, describe
from normtrial.placements.catalogue import PLACEMENTS
from tests.network.models import model
from tests.norms.options import usual_norm
from tests.support import ROOT, answer, command, start_process


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    given = command(*arguments)
    assert given.code == 0, given.message
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.catalogue, "load", lambda config, cache: pytest.fail("data was read"))


def test_it_says_what_is_configured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = shown(capsys, "placement=hybrid", "--show-wiring", "norm=rms", f"store={tmp_path / 'store'}")
    assert text.startswith("placement=hybrid norm=rms, 4 layers, width 64\n")
    assert (inspect.getdoc(PLACEMENTS["hybrid"]) or "?") in text
    assert re.search(r"block00 … block03\n +attention\.q_norm +RMSNorm\(64\)\n", text)
    assert re.search(r"attention\.q_norm +4 × +64 = +256\n", text)
    assert re.search(r"\n  final_norm +RMSNorm\(64\)\n", text)
    assert re.search(r"\n  embed_norm +none\n", text)
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["placement=deepnorm"], "MLP, value and output projections × 0.4204 (the placement's companion"),
        (["placement=post"], "final_norm               none: the last block ends with one"),
        (["placement=none", "norm=none"], "final_norm               none: no norm stands anywhere"),
        (["placement=rezero", "norm=none"], "gate1 = 0"),
        (["placement=peri", "data=sotu"], "embed_norm               LayerNorm(64)"),
        (["model.qk_norm=l2"], "L2Norm(16), each head by itself"),
        (["placement=mix"], "block01 … block03\n    norm1 "),
    ],
)
def test_it_says_what_is_special(arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in shown(capsys, "--show-wiring", *arguments)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_parameters_are_those_of_the_model(placement: str) -> None:
    network = model(usual_norm(placement), placement)
    text = describe(network, "")
    left_out = sum(p.numel() for name in DEPEND_ON_DATA for p in network.sites()[name].parameters())
    total = int(re.findall(r"  all +=  *([\d,]+)", text)[0].replace(",", ""))
    assert total == sum(p.numel() for p in network.parameters()) - left_out
    assert set(re.findall(r"^block00 |(?<=^    )[\w.]+", text, re.M)) >= set(PLACEMENTS[placement].norm_sites())


def test_mistakes_are_answered_as_ever(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--show-wiring", "placement=peri", "model.embed_norm=true").message == (
        "normtrial: placement=peri has a norm after the embedding; leave model.embed_norm=false."
    )
    assert command("--show-wiring", "-m", "placement=pre,post").message == (
        "normtrial: --show-wiring is for one configuration; leave out -m."
    )


def test_a_real_process_prints_nothing_else() -> None:
    given = answer(start_process("--show-wiring", "placement=lns"))
    assert (given.code, given.err) == (0, "")
    assert given.out.startswith("placement=lns norm=ln")
    assert ROOT.joinpath("train.py").exists()
