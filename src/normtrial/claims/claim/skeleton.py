"""`claim.py new`: a file to fill in. It does not load until it is filled in."""

from pathlib import Path

from normtrial.claims.claim.load import KINDS
from normtrial.errors import not_one_of, require

HEAD = """\
# One line: what is on trial
id: {id}
kind: {kind}
statement: "???"  # one sentence in your own words
source: {{document: "???", section: "???", reported: "???"}}
"""
MEASURED = """\
measure: "???"    # a function of normtrial.claims.{kind}
parts:          # every number that the function returns, with what is claimed of it
  a_number: {says: "???", value: "???", tolerance: "???"}
"""
TRAINING = """\
recipe: [model=tiny, data=reviews_zh]   # of every arm
arms:
  ln: [norm=ln, placement=pre]
  bn: [norm=bn, placement=pre]
  none: [norm=none, placement=none]
grid: [1.0e-3, 3.0e-3]                  # learning rates; [] keeps the recipe's
select: val/accuracy                    # by which each arm's rate is chosen; null without grid
shared: 3.0e-3                          # for readings with rate: shared
seeds: {select: [100, 101], judge: [0, 1, 2, 3, 4]}
outcome: {metric: test/accuracy, read: final}
prediction: {direction: "???", size: null, smallest: 0.01}
readings:
  pre: {says: "???", contrast: {bn: 1, ln: -1}}
primary: pre
gates:
  task: {metric: test/accuracy, baseline: ln, control: none, margin: 0.03}
rule: paired
family: "???"
"""


def write_skeleton(folder: Path, name: str, kind: str) -> Path:
    """Write the file; never over one that exists."""
    if kind not in KINDS:
        raise not_one_of("kind", kind, KINDS)
    path = folder / f"{name}.yaml"
    require(not path.exists(), f"{path} exists.")
    body = TRAINING if kind == "training" else MEASURED.replace("{kind}", kind)
    path.write_text(HEAD.format(id=name, kind=kind) + body, encoding="utf-8")
    return path
