"""A run's configuration is read as OmegaConf reads it, group by group."""

from typing import Any, cast

import pytest
from omegaconf import OmegaConf

from normtrial.config import as_yaml, compose
from normtrial.report.stored import leaves_of
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
