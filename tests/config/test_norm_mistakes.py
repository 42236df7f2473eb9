"""Each mistake with the options of a norm, and every word of the answer."""

import pytest

from normtrial.norms.catalogue import NORMS
from normtrial.norms.sequence import SequenceConfig
from tests.norms.options import has
from tests.support import assert_answered, command

LEAKING = [name for name, cls in NORMS.items() if issubclass(cls.Config, SequenceConfig)]
FUTURE = (
    "with these options looks at other positions, so a causal language model (data=sotu) would see the future."
)
pytestmark = pytest.mark.usefixtures("stop_before_the_data")
MISTAKES = {
    "norm=ada_rms norm.condition=sequence data=sotu": f"norm=ada_rms {FUTURE} Set norm.condition=token.",
    "norm=none norm.bias=true": (
        "key 'norm.bias' does not exist for this choice; it belongs to norm="
        f"{', '.join(name for name in NORMS if has(name, 'bias'))}. Allowed: none."
    ),
    "norm=none norm.eps=1e-3": (
        "key 'norm.eps' does not exist for this choice; it belongs to norm="
        f"{', '.join(name for name in NORMS if has(name, 'eps'))}. Allowed: none."
    ),
    "norm=ln_seq norm.affine_shape=ful": (
        "norm.affine_shape 'ful' does not exist; did you mean 'full'? Allowed: full, shared."
    ),
    "norm=prms norm.share=0": "norm.share=0.0 must lie in (0, 1].",
    "norm=dyt norm.alpha_init=0": "norm.alpha_init=0.0 must be finite and not 0 (tanh(0 x) is 0 for every token).",
    "norm=dyt norm.gamma_init=0.5 norm.affine=false": (
        "norm.gamma_init=0.5 has no gain to start: norm.affine=false. Leave it at 1."
    ),
    "norm=ada_scalar norm.faithful=true norm.eps=1e-3": (
        "norm.eps=0.001 has no place: with norm.faithful=true there is no eps. Leave it at 1e-05."
    ),
    "norm=adanorm norm.k=2": "norm.k=2.0 must lie in [0, 1].",
    "norm=adanorm norm.scale=0": "norm.scale=0.0 must be finite and not 0.",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_answered(typed: str) -> None:
    assert_answered(typed, MISTAKES[typed])


@pytest.mark.parametrize("norm", LEAKING)
def test_a_norm_over_positions_is_refused_for_a_causal_language_model(norm: str, configure) -> None:
    """B45."""
    given = command(f"norm={norm}", "data=sotu")
    assert given.code == 1
    assert given.message == (
        f"normtrial: norm={norm} {FUTURE} Choose a norm that reduces D only: ln, rms, ada; "
        "or set norm.allow_leak=true to measure what the leak is worth."
    )
    configure(f"norm={norm}", "data=sotu", "norm.allow_leak=true")
    configure(f"norm={norm}")


def test_the_norms_over_positions_are_found() -> None:
    assert set(LEAKING) >= {"ln_seq", "ln_seq_mask", "instance_mask"}
