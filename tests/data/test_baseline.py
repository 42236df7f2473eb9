"""What is reached without a Transformer: on which documents, kept where, shown where."""

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression

from normtrial.data import baseline, catalogue
from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document
from normtrial.errors import ConfigError
from tests.data.test_preparation import usual
from tests.support import ROOT


@pytest.fixture
def measured(load_toy: Callable[..., TextData], tmp_path: Path) -> Callable[..., dict]:
    """The baseline of documents of our own."""

    def measure(rows: list[Document], kind: str = "classification", **changes) -> dict:
        config = load_toy(rows, kind, **changes)._config
        return baseline.measure(config, tmp_path)

    return measure


def test_it_is_fitted_on_the_documents_that_are_trained_on(
    bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the limited set: 40 documents a split, in the order of their hash, with the labels of the arrays."""
    fitted = []
    fit = LogisticRegression.fit

    def spy(self, rows, labels):
        fitted.append(labels)
        return fit(self, rows, labels)

    monkeypatch.setattr(LogisticRegression, "fit", spy)
    config = bbc_config(limit=40)
    data = catalogue.load(config, cache)
    result = baseline.measure(config, cache)
    batches = list(catalogue.load(config, cache).eval_batches("train"))
    labels = [data.task.labels[target] for batch in batches for target in batch.targets.tolist()]
    assert [list(given) for given in fitted] == [labels]
    assert result["documents"] == data.info["examples"] == {"train": 40, "val": 40, "test": 40}
    assert 0.5 < result["metrics"]["val/accuracy"] < 1

    again = catalogue.load(config, cache)
    assert again.info["baseline"] == result, "kept, and known to every later run"
    assert baseline.measure(config, cache) == result
    assert len(fitted) == 1
    assert "baseline" not in catalogue.load(bbc_config(limit=41), cache).info, "other documents, another baseline"


def test_chinese_is_read_by_characters_and_english_by_words(measured: Callable[..., dict]) -> None:
    english = measured(usual())
    assert english["model"] == "TF-IDF of 1-2 words + logistic regression"
    assert english["metrics"] == {f"{s}/{m}": 1.0 for s in ("val", "test") for m in ("accuracy", "macro_f1")}
    chinese = [row._replace(text=row.text.translate({ord("g"): "好", ord("b"): "坏"})) for row in usual()]
    chinese = [row._replace(text="天气今天真的很不错啊" * 20 + row.text) for row in chinese]
    assert measured(chinese)["model"] == "TF-IDF of 1-3 characters + logistic regression"


def test_a_language_model_is_compared_with_a_compressor(measured: Callable[..., dict], tmp_path: Path) -> None:
    """Text of 4 random letters has 2 bits a character, and text of the training split next to none."""
    import random

    rng = random.Random(0)
    train, noise = ("".join(rng.choices("abcd", k=20_000)) for _ in range(2))
    rows = [Document(train, "train"), Document(noise, "val"), Document(train[5_000:15_000], "test")]
    result = measured(rows, kind="lm", vocab_size=258, max_len=16)
    metrics = result["metrics"]
    assert 2 < metrics["val/bits_per_char"] < 2.2
    assert metrics["test/bits_per_char"] < 0.1
    assert metrics["val/loss_nats"] == pytest.approx(metrics["val/bits_per_char"] * 0.6931, rel=1e-3)
    assert result["documents"] == {"train": 1, "val": 1, "test": 1}


@pytest.mark.slow
def test_a_language_model_uses_the_documents_that_its_windows_touch(
    sotu: TextData, cache: Path, sotu_config: Callable[..., LanguageModelConfig]
) -> None:
    assert sotu.documents_used() == sotu.info["documents"]
    offsets = sotu._arrays["val"]["offsets"]
    max_len = sotu_config().max_len
    for document in (0, 1):
        inside = (
            int(offsets[document + 1] - 1) // max_len
        )  # the last window whose targets all lie in it, or before
        touching = {
            limit: catalogue.load(sotu_config(eval_limit=limit), cache).documents_used()["val"]
            for limit in (inside, inside + 1)
        }
        assert touching == {inside: document + 1, inside + 1: document + 2}


def test_too_little_text_and_a_damaged_file_say_so(measured: Callable[..., dict], tmp_path: Path) -> None:
    rows = [
        Document(f"{split}{label} {split}{label}", split, label)
        for split in ("train", "val", "test")
        for label in "xy"
    ]
    with pytest.raises(ConfigError, match="2 documents are too few for a baseline"):
        measured(rows)
    (folder,) = tmp_path.glob("toy-????????????????")
    (folder / baseline.FILE).write_text("{")
    with pytest.raises(ConfigError, match=r"baseline.json is damaged .* Delete it"):
        measured(rows)


def test_the_script_takes_several_sets_and_overrides(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def measure(config, cache):
        asked.append((config.source, config.limit, str(cache)))
        name = "accuracy" if config.kind == "classification" else "bits_per_char"
        return {"model": "m", "documents": {"train": 1200, "val": 2, "test": 3}, "metrics": {f"val/{name}": 0.5}}

    script = runpy.run_path(str(ROOT / "scripts" / "baseline.py"))
    monkeypatch.setitem(script["main"].__globals__, "measure", measure)
    monkeypatch.setitem(script["main"].__globals__, "Console", lambda: Console(width=80))
    script["main"](["data=bbc", "data.limit=64", "data=sotu", "cache=x"])
    assert asked == [("bbc", 64, "x"), ("sotu", 64, "x")]
    header, _, *lines = (line.split() for line in capsys.readouterr().out.splitlines() if line.strip())
    assert header == ["data", "train", "val", "test", "accuracy", "bits/char"]
    assert lines[:2] == [["bbc", "1,200", "2", "3", "0.500"], ["sotu", "1,200", "2", "3", "0.500"]]
    with pytest.raises(ConfigError, match=r"data\.limit"):
        script["main"](["data=bbc", "data.limit=0"])
