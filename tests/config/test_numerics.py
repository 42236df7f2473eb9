"""An eps that the norm's arithmetic cannot hold is said before training."""

import math
import warnings

import pytest
import torch

from normtrial.config import as_yaml, compose, stored
from normtrial.errors import ConfigError
from normtrial.norms.catalogue import build_norm
from tests.norms.options import settings


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["norm=rms_half", "precision=fp16_pure", "norm.eps=1e-8"], "is 0 in float16.* divides 0 by 0"),
        (["norm=rms_half", "precision=fp16"], "is 1.013e-06 in float16.* lost digits"),
        (["norm.stats_dtype=input", "norm.eps=1e-12", "precision=fp16"], "is 0 in float16"),
        (["norm.eps=1e-50"], "is 0 in float32"),
        (["norm.eps=1e-50", "precision=fp64"], None),
        (["norm.eps=1e-12", "precision=fp16_pure"], None),  # statistics in float32
        (["norm.stats_dtype=input", "norm.eps=1e-12", "precision=bf16"], None),  # the exponents of float32
        (["norm=none", "precision=fp16_pure"], None),
    ],
)
def test_a_lost_eps_is_warned_of(options: list[str], said: str | None) -> None:
    if said is None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compose(*options)
    else:
        with pytest.warns(UserWarning, match=said):
            compose(*options)


@pytest.mark.parametrize("eps", [1e-12, 1e-8, 1e-5])
def test_zeros_in_half_precision_stay_zeros_where_statistics_are_float32(eps: float) -> None:
    norm = build_norm(10, settings("norm=ln", "precision=fp16_pure", values={"norm.eps": eps}).norm).half()
    for token in (torch.zeros(1, 1, 10), torch.full((1, 1, 10), 3.0)):
        assert norm(token.half()).tolist() == [[[0.0] * 10]]


def test_a_warned_eps_of_zero_is_what_it_says() -> None:
    with pytest.warns(UserWarning, match="divides 0 by 0"):
        config = settings("norm=rms_half", "precision=fp16_pure", values={"norm.eps": 1e-8})
    norm = build_norm(10, config.norm).half()
    assert all(math.isnan(value) for value in norm(torch.zeros(1, 1, 10).half()).flatten().tolist())


@pytest.mark.parametrize(
    "options",
    [
        ["norm=bn", "precision=fp16"],
        ["norm=ada", "data=sotu", "placement=lns"],
        ["data=hub", "data.path=x", "data.name=copy"],
    ],
)
def test_a_configuration_comes_back_from_its_yaml(options: list[str]) -> None:
    config = compose(*options)
    text = as_yaml(config)
    assert stored(text) == config
    with pytest.raises(ConfigError, match="no schema of this version has the options"):
        stored(text.replace("affine:", "afine:"))
