"""Claims' files: strict, complete, and standing as they were registered."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from normtrial.claims.claim import registry
from normtrial.claims.claim.load import FOLDER, chosen, load_claim, load_claims
from normtrial.claims.claim.registry import complaint, complaints, fingerprint, register
from normtrial.claims.claim.skeleton import write_skeleton
from normtrial.claims.command import main
from normtrial.errors import ConfigError
from tests.claims.made import CLAIM, claim, written
from tests.support import ROOT

CLAIMS = load_claims()


def test_every_claim_stands_as_registered() -> None:
    assert len(CLAIMS) >= 52
    assert complaints(CLAIMS.values()) == []


def test_what_is_kept_of_runs_needs_no_torch() -> None:
    code = (
        "import sys; from normtrial.claims.command import main; main(['judge', 'C01', '--results', sys.argv[1]]); "
        "sys.exit('torch' in sys.modules or 'hydra' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(ROOT / "results")], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("smallest: 0.01", "smalest: 0.01", r"key 'prediction.smalest' does not exist; did you mean 'smallest'\?"),
        ("family: made", "fmly: made", r"key 'fmly' does not exist; did you mean 'family'\?"),
        ("direction: down", "direction: dwn", r"prediction.direction 'dwn' does not exist; did you mean 'down'\?"),
        ("bn: 1, ln: -1", "bn: 1, lm: -1", r"readings.pre 'lm' does not exist; did you mean 'ln'\?"),
        ("bn: 1, ln: -1", "bn: 1, ln: -2", r"must sum to 0"),
        ("read: final", "read: fnal", r"outcome.read 'fnal' does not exist; did you mean 'final'\?"),
        ("rule: paired", "rule: pared", r"rule 'pared' does not exist; did you mean 'paired'\?"),
        ("primary: pre", "primary: post", r"primary 'post' does not exist"),
        ("size: 0.07", "size: 0.001", r"size=0.001 must be at least smallest=0.01"),
        ("select: [100]", "select: [0]", r"a seed both selects and judges"),
        ("kind: training", "kind: trainings", r"kind 'trainings' does not exist; did you mean 'training'\?"),
        ("statement: BatchNorm is worse.\n", "", r"statement has no value"),
        ("read: final}", "read: final, target: 1.0}", r"target goes with steps_to_target"),
        (
            "metric: test/accuracy, read",
            "metric: grad/global_norm, read",
            r"has no worst value for a diverged run",
        ),
        (
            "metric: test/accuracy, read",
            "metric: test/accuracies, read",
            r"metric 'test/accuracies' does not exist",
        ),
        ("read: final}", "read: happened}", r"read=happened is for events/<kind>"),
        ("read: final}", "read: largest_rate}", r"a claim about the grid has no gates"),
        ("control: none, ", "", r"needs a control or a shuffled metric"),
    ],
)
def test_a_mistake_is_answered(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CLAIM
    with pytest.raises(ConfigError, match=message):
        claim(tmp_path, CLAIM.replace(old, new))


@pytest.mark.parametrize(
    ("metric", "rate", "message"),
    [
        (
            "test/accuracy",
            "shared",
            r"whether a run trains is read from a loss, as val/loss_nats; got test/accuracy",
        ),
        ("val/loss_nats", "best", r"no rate is chosen; other readings need rate: shared"),
    ],
)
def test_what_is_read_of_a_whole_grid(tmp_path: Path, metric: str, rate: str, message: str) -> None:
    text = CLAIM.replace("grid: []", "grid: [0.001, 0.002]\nshared: 0.001").replace(
        "select: null", "select: val/accuracy"
    )
    text = text[: text.index("gates:")] + "gates: {}\nrule: paired\nfamily: made\n"
    text = text.replace("metric: test/accuracy, read: final", f"metric: {metric}, read: largest_rate")
    outcome = "outcome: {metric: val/loss_nats, read: final}"
    other = f"readings:\n  loss: {{says: loss, contrast: {{bn: 1, ln: -1}}, rate: {rate}, {outcome}}}"
    with pytest.raises(ConfigError, match=message):
        claim(tmp_path, text.replace("readings:", other))


def test_a_changed_prediction_is_found_unless_it_says_why(tmp_path: Path, capsys) -> None:
    path = written(tmp_path)
    assert main(["verify", "--claims", str(tmp_path)]) == 1  # not registered
    assert register(load_claim(path), path, "2026-11-29")
    assert not register(load_claim(path), path, "2026-11-30")  # once only
    assert main(["verify", "--claims", str(tmp_path)]) == 0
    registered = path.read_text()
    path.write_text(registered.replace("size: 0.07", "size: 0.02"))
    changed = load_claim(path)
    assert "was changed after 2026-11-29" in (complaint(changed) or "")
    assert main(["verify", "--claims", str(tmp_path)]) == 1
    assert fingerprint(changed) in capsys.readouterr().err
    why = f'\ndeviations:\n  - {{date: "2026-12-01", why: "WHY", hash: "{fingerprint(changed)}"}}\n'
    path.write_text(path.read_text() + why.replace("WHY", " "))
    assert "does not say why" in (complaint(load_claim(path)) or "")
    path.write_text(path.read_text().replace('why: " "', 'why: "a typing error"'))
    assert complaint(load_claim(path)) is None


def test_a_changed_recipe_is_a_changed_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = CLAIM.replace("recipe: [model=tiny,", "recipe: [experiment=mine, model=tiny,")
    found = []
    for values in ("train: {steps: 100}  # few\n", "train: {steps: 100}  # many\n", "train: {steps: 200}\n"):
        (tmp_path / "mine.yaml").write_text(values)
        monkeypatch.setattr(registry, "RECIPES", tmp_path)
        found.append(fingerprint(claim(tmp_path, text)))
    assert found[0] == found[1] != found[2]


def test_remarks_are_free_to_change(tmp_path: Path) -> None:
    assert fingerprint(claim(tmp_path)) == fingerprint(claim(tmp_path, CLAIM + "\nremark: seen later\n"))
    assert fingerprint(claim(tmp_path)) != fingerprint(claim(tmp_path, CLAIM.replace("0.01}", "0.02}")))


@pytest.mark.parametrize("kind", ["exact", "training", "cost"])
def test_a_skeleton_is_a_start_and_no_claim(tmp_path: Path, kind: str) -> None:
    path = write_skeleton(tmp_path, "T9", kind)
    with pytest.raises(ConfigError, match="has no value"):
        load_claim(path)
    with pytest.raises(ConfigError, match="exists"):
        write_skeleton(tmp_path, "T9", kind)


def test_claims_are_chosen_by_id_and_kind() -> None:
    assert [one.id for one in chosen(CLAIMS, ["C09", "C10"])] == ["C09", "C10"]
    assert {one.kind for one in chosen(CLAIMS, [], "exact")} == {"exact"}
    with pytest.raises(ConfigError, match="claim 'C999' does not exist"):
        chosen(CLAIMS, ["C999"])


def test_opposite_claims_exist() -> None:
    assert any(one.against for one in CLAIMS.values())
    assert all(other in CLAIMS for one in CLAIMS.values() for other in one.against)


def test_statements_are_no_quotations() -> None:
    """Nothing of the documents, which are Chinese, is copied."""
    for path in FOLDER.glob("*.yaml"):
        assert not re.search(r"[一-鿿]", path.read_text(encoding="utf-8")), path
