"""Each mistake of a user's, and every word of the answer."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import torch

from normtrial.config import Config
from normtrial.norms.catalogue import NORMS
from normtrial.placements.catalogue import PLACEMENTS
from tests.norms.options import CONF, has
from tests.support import answer, assert_answered, command, start_process

PLACEMENT_NAMES = f"Allowed: {', '.join(sorted(PLACEMENTS))}."
DATA_NAMES = ", ".join(sorted(path.stem for path in (CONF / "data").glob("*.yaml")))
RECIPE_NAMES = ", ".join(sorted(path.stem for path in (CONF / "experiment").glob("*.yaml")))
NORM_NAMES = f"Allowed: {', '.join(sorted(NORMS))}."
MOMENTUM_OWNERS = ", ".join(name for name in NORMS if has(name, "momentum"))
NORM_KEYS = "Allowed: norm.affine, norm.bias, norm.eps, norm.gamma_init, norm.stats_dtype."
ROOT_KEYS = f"Allowed: {', '.join(sorted(field.name for field in fields(Config)))}."
EPSS = f"key 'norm.epss' does not exist for this choice; did you mean 'norm.eps'? {NORM_KEYS}"
EPS_RANGE = "must lie strictly between 0 and 1 (1e-5 is usual); with 0 a constant token divides 0 by 0."
MISTAKES = {
    "norm=lm": f"norm 'lm' does not exist; did you mean 'ln'? {NORM_NAMES}",
    "placement=prr": f"placement 'prr' does not exist; did you mean 'pre'? {PLACEMENT_NAMES}",
    "data=imbd": f"data 'imbd' does not exist; did you mean 'imdb'? Allowed: {DATA_NAMES}.",
    "data=files": "data.path has no value; give it on the command line or in a recipe.",
    "data=files data.path=": "data.path is empty.",
    "data=files data.path=x data.encoding=uft-8": (
        "data.encoding='uft-8' is unknown; common ones are utf-8, utf-16, gb18030, big5, cp1252."
    ),
    "data=files data.path=x data.sample_by=lines": (
        "data.sample_by 'lines' does not exist; did you mean 'line'? Allowed: document, line, paragraph."
    ),
    "data=hub_lm data.path=x data.document_start='('": (
        "data.document_start='(' is no regular expression: missing ), unterminated subpattern at position 0."
    ),
    "data=hub data.path=x data.max_documents=0": (
        "data.max_documents must be at least 1 document, or null for all of them, not 0."
    ),
    "data=imdb data.source=a/b": "data.source='a/b' must be a plain name.",
    "experiment=quick": f"experiment 'quick' does not exist; did you mean 'quick_look'? Allowed: {RECIPE_NAMES}.",
    "norm.epss=1e-3": EPSS,
    "+norm.epss=1e-3": EPSS,
    "++norm.epss=1e-3": EPSS,
    "-m norm.epss=1e-3,1e-4": EPSS,
    "-m norm=ln,bm": f"norm 'bm' does not exist; did you mean 'bn'? {NORM_NAMES}",
    "+foo.bar=1": f"key 'foo' does not exist. {ROOT_KEYS}",
    "sed=1": f"key 'sed' does not exist; did you mean 'seed'? {ROOT_KEYS}",
    "nrom=bn": f"key 'nrom' does not exist; did you mean 'norm'? {ROOT_KEYS}",
    "+norm=bn": "norm is chosen already; write norm=…, without +, to choose another.",
    "norm=bn,ln": "norm=bn,ln: several values make a sweep; write python train.py -m norm=bn,ln.",
    "norm.eps": "cannot read 'norm.eps'; values are given as name=value, as in norm.eps=1e-3.",
    'norm.eps="1e-5"': 'norm.eps="1e-5": "1e-5" is text, not a number. Write norm.eps=1e-5.',
    "norm.eps=0": f"norm.eps=0.0 {EPS_RANGE}",
    "norm.eps=-1e-5": f"norm.eps=-1e-05 {EPS_RANGE}",
    "norm.eps=nan": "norm.eps is not a number (nan).",
    "norm.eps=inf": f"norm.eps=inf {EPS_RANGE}",
    "norm.eps=abc": "norm.eps=abc is not a number.",
    "norm.eps=null": "norm.eps cannot be null.",
    "~norm.eps": "norm.eps cannot be removed; give it a value instead.",
    "norm.affine=maybe": "norm.affine=maybe is not true or false.",
    "norm.momentum=0.1": (
        f"key 'norm.momentum' does not exist for this choice; it belongs to norm={MOMENTUM_OWNERS}. {NORM_KEYS}"
    ),
    "norm=bn norm.momentum=2": "norm.momentum=2.0 must lie in (0, 1].",
    "norm=bn norm.min_valid_tokens=1": (
        "norm.min_valid_tokens=1 must be at least 2: a single token has no variance."
    ),
    "norm=bn norm.padding=fil": (
        "norm.padding 'fil' does not exist; did you mean 'fill'? Allowed: exclude, fill, include."
    ),
    "norm=power norm.padding=fill": "norm.padding 'fill' does not exist. Allowed: exclude, include.",
    "norm=bn norm.sync=all": "norm.sync 'all' does not exist; did you mean 'global'? Allowed: global, none.",
    "norm=bn_pos norm.unseen=pool": (
        "norm.unseen 'pool' does not exist; did you mean 'pooled'? Allowed: clamp, pooled, raise."
    ),
    "norm=rbn norm.lambda_mean=-1": "norm.lambda_mean=-1.0 must be finite and not negative.",
    "norm=power norm.momentum_backward=0": "norm.momentum_backward=0.0 must lie in (0, 1].",
    "norm=power norm.warmup_steps=-1": "norm.warmup_steps=-1 must not be negative.",
    "norm=repbn norm.decay_steps=0": "norm.decay_steps=0 must be at least 1.",
    "norm.name=bn": "norm.name comes with the option; choose it by norm=bn.",
    "placement.name=post": "placement.name comes with the option; choose it by placement=post.",
    "placement.share=0.5": (
        "key 'placement.share' does not exist for this choice; it belongs to placement=mix. Allowed: none."
    ),
    "placement=mix placement.share=1": (
        "placement.share=1.0 must lie strictly between 0 and 1; 0 would be placement=pre, 1 placement=post."
    ),
    "placement=deepnorm placement.init=plane": (
        "placement.init 'plane' does not exist; did you mean 'plain'? Allowed: auto, plain."
    ),
    "placement=peri model.embed_norm=true": (
        "placement=peri has a norm after the embedding; leave model.embed_norm=false."
    ),
    "placement=hybrid model.qk_norm=l2": (
        "placement=hybrid has norms on queries and keys; leave model.qk_norm=none."
    ),
    "model.qk_norm=rsm": "model.qk_norm 'rsm' does not exist; did you mean 'rms'? Allowed: l2, ln, none, rms.",
    "model.d_model=66": (
        "model.d_model=66 is not divisible by model.num_heads=4; heads that divide it: 1, 2, 3, 6, 11, 22, 33, 66."
    ),
    "model.d_model=64.5": "model.d_model=64.5 is not a whole number.",
    "train=5": ("train: '5' was given where several values stand; set one of them, as in norm.eps=1e-3."),
    "norm=bn data.batch_size=1": (
        "norm=bn takes its statistics over the batch, and data.batch_size=1 leaves it a single example (and, for "
        "a one-word text, a single token, whose variance is 0). Set data.batch_size to 2 or more, "
        "or choose norm=ln."
    ),
    "train.steps=200 optim.warmup_steps=500": (
        "optim.warmup_steps=500 is longer than train.steps=200: the rate would never arrive at optim.lr. "
        "Lower the warm-up; null is a tenth of the steps."
    ),
    "norm=ada norm.condition=sequence data=sotu": (
        "norm=ada with these options looks at other positions, so a causal language model (data=sotu) would see "
        "the future. Set norm.condition=token."
    ),
    "data.limit=0": "data.limit must be at least 1 example, or null for all of them, not 0.",
    "train.steps=0": "train.steps=0 must be at least 1.",
    "optim.schedule=cosin": (
        "optim.schedule 'cosin' does not exist; did you mean 'cosine'? Allowed: constant, cosine."
    ),
    "optim.lr=-1": "optim.lr=-1.0 must be positive and finite.",
    "log.mode=disabled": "log.mode 'disabled' does not exist; log=file trains without W&B.",
    "log.mode=ofline": "log.mode 'ofline' does not exist; did you mean 'offline'? Allowed: offline, online.",
    "device=gpu": "device 'gpu' does not exist; did you mean 'cpu'? Allowed: auto, cpu, cuda.",
    "device=cuda": "device=cuda, but torch sees no CUDA device; use device=auto or cpu.",
    "data=sotu_era data.window_words=0": "data.window_words must be at least 1 word, not 0.",
    "data=sotu_era data.source=bbc": "data.source 'bbc' isn't cut into windows: choose it by data=bbc.",
    "data.source=sotu": "data.source 'sotu' is a set for lm, not for classification: choose it by data=sotu.",
}
RECIPES = {
    "norm: {epss: 1e-3}": EPSS,
    "nrom: {eps: 1e-3}": f"key 'nrom' does not exist; did you mean 'norm'? {ROOT_KEYS}",
    "defaults: [{override /norm: lm}]": f"norm 'lm' does not exist; did you mean 'ln'? {NORM_NAMES}",
    "placement: {name: mix}": (
        "placement.name=mix stands with the options of another placement. Leave the name to the option: "
        "override /placement: mix in a recipe's defaults."
    ),
    "norm: {name: bn}": (
        "norm.name=bn stands with the options of another norm. Leave the name to the option: "
        "override /norm: bn in a recipe's defaults."
    ),
}


pytestmark = pytest.mark.usefixtures("stop_before_the_data")


@pytest.fixture(autouse=True)
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_answered(typed: str) -> None:
    assert_answered(typed, MISTAKES[typed])


def test_a_key_of_labelled_text_is_none_of_a_language_model() -> None:
    given = command("data=files_lm", "data.path=x", "data.label=y")
    assert given.message.startswith("normtrial: key 'data.label' does not exist for this choice; did you mean")
    assert "data.kind" not in given.message


@pytest.mark.parametrize("content", RECIPES)
def test_a_mistake_in_a_recipe_is_answered(content: str, tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(f"# @package _global_\n{content}\n", encoding="utf-8")
    given = command("--config-dir", str(tmp_path), "experiment=mine")
    assert (given.code, given.message) == (1, f"normtrial: {RECIPES[content]}")


def test_a_recipe_without_its_first_line_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("norm: {eps: 1e-3}\n", encoding="utf-8")
    given = command("--config-dir", str(tmp_path), "experiment=mine")
    assert given.message.endswith("its first line must be # @package _global_.")


def test_a_recipe_that_is_not_yaml_is_told_where(tmp_path: Path) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text("# @package _global_\nnorm: [bn\n", encoding="utf-8")
    given = command("--config-dir", str(tmp_path), "experiment=mine")
    assert given.code == 1
    assert "mine.yaml" in given.message
    assert "line 2" in given.message


def test_real_processes_answer_the_same_without_a_traceback() -> None:
    """One mistake that Hydra finds, one of ours, and one of a sweep."""
    typed = ["norm.epss=1e-3", "norm.eps=0", "-m norm=ln,bm"]
    processes = [start_process(*line.split(" ")) for line in typed]
    for line, given in zip(typed, map(answer, processes), strict=True):
        assert given.code == 1
        assert given.message == f"normtrial: {MISTAKES[line]}"
        assert "Traceback" not in given.err
        assert given.out == ""


def test_configuration_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert command("norm.eps=0", f"store={store}", f"cache={store}").code == 1
    assert not store.exists()


def test_a_mistake_is_not_hidden_among_hydra_lines(capsys: pytest.CaptureFixture[str]) -> None:
    command("norm.eps=0")
    assert capsys.readouterr().err == "", "only our own message stands on the error stream"


def test_good_configurations_are_not_refused(configure: Callable[..., object]) -> None:
    for typed in (
        "norm=bn",
        "norm=ada norm.condition=sequence",
        "data=sotu norm=bn",
        "norm.eps=0.5 optim.clip=null",
    ):
        configure(*typed.split(" "))
