"""What the options of a norm promise: affine, bias, gamma_init, names of parameters, errors for nonsense."""

import itertools

import pytest
import torch

from normtrial.errors import ConfigError
from normtrial.norms.catalogue import NORMS
from tests.norms.draws import randomize
from tests.norms.options import CONF, has, make, options

EVERY = pytest.mark.parametrize("name", NORMS)


def test_every_norm_has_its_file_and_every_file_its_norm() -> None:
    assert {path.stem for path in (CONF / "norm").glob("*.yaml")} == set(NORMS)


@EVERY
def test_name_follows_from_the_choice(name: str) -> None:
    assert options(name).name == name
    assert type(options(name)) is NORMS[name].Config


@EVERY
def test_affine_false_leaves_no_parameters(name: str) -> None:
    if has(name, "affine"):
        assert list(make(name, 4, affine=True).parameters())
        assert not list(make(name, 4, affine=False).parameters())


@EVERY
def test_gain_starts_at_gamma_init_and_shift_at_zero(name: str) -> None:
    if has(name, "gamma_init"):
        for bias in (True, False):
            norm = make(name, 4, affine=True, bias=bias, gamma_init=0.5)
            parameters = dict(norm.named_parameters())
            assert ("weight" in parameters, "bias" in parameters) == (True, bias)
            for key, parameter in parameters.items():
                if key.endswith("weight"):
                    assert torch.equal(parameter, torch.full((4,), 0.5))
                if key.endswith("bias"):
                    assert bias
                    assert torch.equal(parameter, torch.zeros(4))
        with pytest.raises(ConfigError, match="no gain to start"):
            make(name, 4, affine=False, gamma_init=0.5)


@EVERY
def test_no_parameter_is_called_gamma_or_beta(name: str) -> None:
    """B43: loaders of other libraries rename those."""
    for key in make(name, 4).state_dict():
        assert not {"gamma", "beta"} & set(key.replace("_", ".").split("."))


@EVERY
def test_state_survives_saving_and_loading(name: str, tmp_path) -> None:
    saved, loaded = make(name, 4), make(name, 4)
    for tensor in saved.state_dict().values():
        tensor.copy_(torch.rand(tensor.shape) * 9)
    torch.save(saved.state_dict(), tmp_path / "norm.pt")
    loaded.load_state_dict(torch.load(tmp_path / "norm.pt", weights_only=True))
    assert all(map(torch.equal, saved.state_dict().values(), loaded.state_dict().values()))


@pytest.mark.parametrize(("saved", "loaded"), list(itertools.permutations(NORMS, 2)))
def test_state_of_another_norm_is_refused(saved: str, loaded: str) -> None:
    """B43: as shipped. Norms whose parameters are the same by name and shape cannot be told apart."""
    mine, theirs = make(saved, 4).state_dict(), make(loaded, 4)
    if mine.keys() == theirs.state_dict().keys():
        pytest.skip("the same parameters")
    with pytest.raises(RuntimeError, match=r"Missing key|Unexpected key"):
        theirs.load_state_dict(mine)


@pytest.mark.parametrize("eps", [0.0, -1e-5, 1.0, float("nan"), float("inf")])
@EVERY
def test_impossible_eps_is_refused(name: str, eps: float) -> None:
    if has(name, "eps"):
        with pytest.raises(ConfigError, match=r"norm\.eps"):
            make(name, 4, eps=eps)


def test_a_padded_position_comes_out_of_batchnorm_as_zero_in_training_where_it_does_not_count() -> None:
    x_BLD, mask_BL = torch.randn(2, 3, 4), torch.tensor([[True, True, True], [True, False, False]])
    for padding, zero in (("exclude", True), ("include", False)):
        y_BLD = make("bn", 4, padding=padding)(x_BLD, mask_BL)
        assert (y_BLD[~mask_BL] == 0).all().item() == zero


def test_padding_include_is_batchnorm_of_everything() -> None:
    x_BLD, mask_BL = torch.randn(2, 3, 4), torch.tensor([[True, True, True], [True, False, False]])
    included, full = make("bn", 4, padding="include"), make("bn", 4)
    assert torch.equal(included(x_BLD, mask_BL), full(x_BLD, None))
    assert all(map(torch.equal, included.buffers(), full.buffers()))


@EVERY
def test_stats_dtype_input_takes_statistics_in_half_precision(name: str) -> None:
    """It loses digits, and says so by being an option; in float32 it changes nothing."""
    if not has(name, "stats_dtype"):
        return
    for training in (True, False):
        half, full = (randomize(make(name, 64, stats_dtype=kind)).train(training) for kind in ("input", "fp32"))
        x_BLD = 3 + torch.randn(8, 5, 64, generator=torch.Generator().manual_seed(0))
        assert torch.equal(half(x_BLD, cond_BLD=x_BLD), full(x_BLD, cond_BLD=x_BLD))
        coarse, fine = (norm.bfloat16()(x_BLD.bfloat16(), cond_BLD=x_BLD.bfloat16()) for norm in (half, full))
        assert coarse.dtype == fine.dtype == torch.bfloat16
        assert not torch.equal(coarse, fine)
        assert (coarse - fine).abs().max() < 0.02 * fine.abs().max()
