"""Choices without effect beside the rest, and shifts that the rest cannot bear: refused in so many words."""

from collections.abc import Callable

import pytest

from tests.support import assert_answered

CLASSIFIER = "changes nothing for data=bbc:"
pytestmark = pytest.mark.usefixtures("stop_before_the_data")
MISTAKES = {
    "placement=none": (
        "placement=none has no norm, so norm=ln would change nothing. Write norm=none placement=none; "
        "or choose a placement with norms, as placement=pre."
    ),
    "placement=rezero norm=bn": (
        "placement=rezero has no norm, so norm=bn would change nothing. Write norm=none placement=rezero; "
        "or choose a placement with norms, as placement=pre."
    ),
    "model.tie=false": (
        f"model.tie=false {CLASSIFIER} a classifier's head has no matrix to share with the embedding. "
        "Leave model.tie=true; it is for language models, as data=sotu."
    ),
    "norm=ln_seq norm.allow_leak=true": (
        f"norm.allow_leak=true {CLASSIFIER} only a causal language model has a future to leak. "
        "Leave norm.allow_leak=false; it is for language models, as data=sotu."
    ),
    "norm.affine=false norm.bias=true": (
        "norm.bias=true has no effect: norm.affine=false leaves no parameters. Leave norm.bias out."
    ),
    "norm=derf norm.affine=false norm.bias=true": (
        "norm.bias=true has no effect: norm.affine=false leaves no parameters. Leave norm.bias out."
    ),
    "norm=ada norm.affine=false norm.condition=sequence": (
        "norm.condition=sequence has no effect: norm.affine=false leaves nothing that reads it. "
        "Leave norm.condition=token."
    ),
    "norm=ln_seq norm.affine=false norm.affine_shape=full": (
        "norm.affine_shape=full has no effect: norm.affine=false leaves nothing of any shape. "
        "Leave norm.affine_shape=shared."
    ),
    "data.truncate=heads": (
        "data.truncate 'heads' does not exist; did you mean 'head'? Allowed: both, head, tail."
    ),
    "model.positions=rotary model.d_model=36 model.num_heads=4": (
        "model.positions=rotary turns pairs of features, and a head has 9 (model.d_model / model.num_heads); "
        "make that even."
    ),
    "model.positions=rotery": (
        "model.positions 'rotery' does not exist; did you mean 'rotary'? Allowed: learned, rotary, sinusoidal."
    ),
    "eval.max_len=1024": (
        "eval.max_len=1024 is longer than data.max_len=512, where learned positions end. "
        "Set model.positions=sinusoidal or rotary, or raise data.max_len."
    ),
    "norm=bn_pos norm.unseen=raise model.positions=rotary eval.max_len=[64,1024]": (
        "eval.max_len=1024 is longer than data.max_len=512, where the statistics of norm=bn_pos end, and "
        "norm.unseen=raise stops there. Set norm.unseen=pooled or clamp."
    ),
    "norm=ln_seq norm.affine_shape=full eval.max_len=64": (
        "eval.max_len=64 is not data.max_len=512, the one length that norm=ln_seq takes with "
        "norm.affine_shape=full. Set norm.affine_shape=shared."
    ),
    "data=sotu eval.length_buckets=4": (
        "eval.length_buckets=4 is for classification: the windows of data=sotu are of one length and have no "
        "class. Leave it out."
    ),
    "data=sotu eval.one_class_batches=true": (
        "eval.one_class_batches=True is for classification: the windows of data=sotu are of one length and have "
        "no class. Leave it out."
    ),
    "eval.shuffle_words=1.5": "eval.shuffle_words=1.5 must lie in (0, 1].",
    "eval.shuffle_words=[0.5,0]": "eval.shuffle_words=0.0 must lie in (0, 1].",
    "eval.drop_words=1": "eval.drop_words=1.0 must lie in (0, 1).",
    "eval.noise=nan": "eval.noise=nan must be positive and finite.",
    "eval.noise=much": "eval.noise=much is not a number, as 0.1, nor a list of such.",
    "eval.max_len=inf": "eval.max_len=inf is not a whole number, as 64, nor a list of such.",
    "eval.max_len=1": "eval.max_len=1 must be at least 2 tokens.",
    "eval.batch_size=0": "eval.batch_size=0 must be at least 1 example.",
    "eval.batch_size=true": "eval.batch_size=True is not a whole number, as 64, nor a list of such.",
    "eval.batch_size=[7,7]": "eval.batch_size=[7, 7] says the same twice.",
    "eval.length_buckets=1": "eval.length_buckets=1 must be at least 2, or null for none.",
    "eval.streaming=true eval.batch_size=[1,7]": (
        "eval.streaming=true is eval.batch_size=1 by another name; leave one of them out."
    ),
    "eval.when=ever": "eval.when 'ever' does not exist. Allowed: always, end.",
    "eval.when=always": (
        "eval.when=always has no shift to evaluate. Choose one, as eval.noise=0.5, or leave it out."
    ),
    "eval.seed=3 eval.batch_size=2": (
        "eval.seed=3 draws nothing: eval.shuffle_words, drop_words and noise do. Leave it at 0."
    ),
    "eval.seed=-1": "eval.seed=-1 must lie between 0 and 2^31 - 1.",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_answered(typed: str) -> None:
    assert_answered(typed, MISTAKES[typed])


@pytest.mark.parametrize(
    "typed",
    [
        "norm=none placement=none",
        "norm=none",
        "norm=bn placement=rezero model.embed_norm=true",
        "norm.affine=false",
        "norm=bn norm.affine=false norm.bias=false",
        "norm=ada norm.affine=false",
        "norm=ln_seq norm.affine=false",
        "data=sotu model.tie=false",
        "norm=bn_pos model.positions=rotary eval.max_len=1024",
        "norm=bn_pos norm.unseen=raise eval.max_len=512",
        "eval.batch_size=[1,7,32] eval.noise=1 eval.shuffle_words=null",
    ],
)
def test_what_has_an_effect_is_accepted(typed: str, configure: Callable[..., object]) -> None:
    configure(*typed.split(" "))
