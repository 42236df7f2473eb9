"""A run's configuration is read as OmegaConf reads it, group by group."""

from pathlib import Path
from typing import Any, cast

import pytest
from omegaconf import OmegaConf

from normtrial.config import as_yaml, compose
from normtrial.records import RunFolder
from normtrial.report.stored import config_of, leaves_of
from normtrial.training.sinks.record import leaves

ODD = """\
# a comment in front
norm: {name: bn, eps: 1e-05,
  momentum: .5}
data:
  revision: 2024-01-01
  path: 'two

    lines: of text'
  train: |
    seed: 1
    norm: ln
tags:
- a
- b: 1_000
seed: 0x10
store: no
"""


@pytest.mark.parametrize(
    "text", [as_yaml(compose("norm=bn")), ODD, "seed: 0", ""], ids=["run", "odd", "one", "none"]
)
def test_it_is_what_omegaconf_reads(text: str) -> None:
    whole = cast(dict[str, Any], OmegaConf.to_container(OmegaConf.create(text)))
    assert repr(leaves_of(text)) == repr(dict(leaves(whole)))


def test_a_configuration_cut_short_is_an_error() -> None:
    with pytest.raises(Exception, match="expected"):
        leaves_of("norm: {name: bn")


def test_a_run_has_the_values_of_options_that_it_is_older_than(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    text = as_yaml(compose("norm=bn", "model.mixer=conv1d"))
    folder.path.mkdir()
    (folder.path / "config.yaml").write_text(text, encoding="utf-8")
    assert list(config_of(folder).items()) == list(leaves_of(text).items()), "as it is, in its order"
    older = "".join(line for line in text.splitlines(keepends=True) if "mixer" not in line)
    (folder.path / "config.yaml").write_text(older, encoding="utf-8")
    assert config_of(folder) == leaves_of(text) | {"model.mixer": "attention"}
