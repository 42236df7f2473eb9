"""Every kind of vocabulary: the same in every process, lossless on known characters, honest about the others."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from normtrial.data import catalogue
from normtrial.data.arrays import read
from normtrial.data.config import ClassificationConfig
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document
from normtrial.data.statistics import describe
from normtrial.data.tokenizer.catalogue import KINDS, make
from normtrial.data.tokenizer.vocabulary import EOS, PAD, Vocabulary
from normtrial.errors import ConfigError
from normtrial.identity import run_id
from tests.data.test_packaged_sets import CACHE, fetched
from tests.data.test_preparation import usual
from tests.norms.options import settings
from tests.support import ROOT

TEXT = "Prices rose 12%,  then (##) fell.\n\n\tThe [EOS] of it: 價格 上升了， naïve £5 — #tag"
UNKNOWING = ("char", "word", "wordpiece", "unigram")


def trained(kind: str, *texts: str, size: int | None = 512) -> Vocabulary:
    return make(kind, None if kind == "byte" else size, lambda: iter(texts))


def hashes(source: str, documents: int, size: int, *kinds: str, seed: int) -> list[str]:
    """What a fresh process makes of the kinds; Python's hash seed, too, is another one."""
    command = [sys.executable, "-m", "tests.data.train_vocabularies", str(CACHE), source]
    done = subprocess.run(
        [*command, str(documents), str(size), *kinds],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(seed), "TOKENIZERS_PARALLELISM": str(seed % 2 == 0).lower()},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def test_every_kind_is_the_same_in_every_process() -> None:
    first, other = (hashes("bbc", 60, 512, *KINDS, seed=seed) for seed in (1, 2))
    assert [line.split()[0] for line in first] == list(KINDS)
    assert other == first


@pytest.mark.slow
@pytest.mark.parametrize(("source", "size"), [("bbc", 2048), ("headlines_zh", 4096)])
def test_whole_sets_give_the_same_vocabulary_in_every_process(source: str, size: int) -> None:
    fetched(source)
    first, other = (hashes(source, 10**6, size, *KINDS, seed=seed) for seed in range(2))
    assert other == first


@pytest.mark.slow
def test_the_same_check_finds_that_the_librarys_own_trainer_is_not_reproducible() -> None:
    """Once this fails, `tokenizers` has been mended, and our way around its trainer may go."""
    assert len({tuple(hashes("bbc", 60, 512, "library", seed=seed)) for seed in range(4)}) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_no_character_is_lost_and_no_text_spells_a_special_token(kind: str) -> None:
    vocabulary = trained(kind, *[TEXT] * 3)
    (ids,) = vocabulary.encode([TEXT])
    assert vocabulary.tokenizer.decode(ids) == TEXT
    assert (vocabulary.pad, vocabulary.eos) == (PAD, EOS) or kind == "unigram"
    assert not {vocabulary.pad, vocabulary.eos, vocabulary.unk} & set(ids)
    assert max(ids) < vocabulary.size <= 512
    assert (vocabulary.unk is not None) == (kind in UNKNOWING)


@pytest.mark.parametrize("kind", UNKNOWING)
def test_a_vocabulary_keeps_to_its_size_and_takes_common_characters_first(kind: str) -> None:
    rare = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))  # Han characters, each once
    vocabulary = trained(kind, "a common text\nof common words " * 50 + rare, size=80)
    assert vocabulary.size <= 80
    common, mixed = vocabulary.encode(["common text\nof words", f"a {rare[-1]}"])
    assert vocabulary.unk not in common
    assert vocabulary.unk in mixed


def test_byte_is_bpe_without_merges() -> None:
    text = "abab £"
    assert trained("byte", text).encode([text]) == make("bpe", 258, lambda: iter([text])).encode([text])
    assert len(trained("byte", text).encode([text])[0]) == len(text.encode())


def test_wordpiece_takes_the_longest_piece_first() -> None:
    vocabulary = trained("wordpiece", "norm norms normal " * 9 + "a l s", size=80)
    pieces = vocabulary.tokenizer.encode("norms normalnorm x").tokens
    assert pieces == [" norms", " normal", "##n", "##or", "##m", "[UNK]"]


def test_what_is_unknown_is_counted_by_split_and_said(load_toy: Callable[..., TextData]) -> None:
    rows = [Document("ab" * 4, "train", "x"), Document("aabb", "train", "y")]
    rows += [Document("abaz", "val", "x"), Document("bbbb", "test", "y")]
    data = load_toy(rows, tokenizer="char", vocab_size=None)
    assert data.info["unknown_share"] == {"train": 0.0, "val": 0.25, "test": 0.0}
    assert data.info["tokenizer"] == "char"
    assert data.task.vocab_size == 3 + 2
    assert "vocabulary 5 (char), 25.00% of val unknown;" in describe(data.info)
    assert "unknown" not in describe(load_toy(rows).info), "bytes spell everything"


def test_bytes_are_counted_beside_characters(load_toy: Callable[..., TextData]) -> None:
    rows = [Document("語言模型" * 2, "train"), Document("語語語語語", "val"), Document("言言言言言", "test")]
    task = load_toy(rows, kind="lm", tokenizer="char", vocab_size=None, max_len=2).task
    assert task.tokens_per_char == {"train": 9 / 8, "val": 6 / 5, "test": 6 / 5}
    assert task.tokens_per_byte == {"train": 9 / 24, "val": 6 / 15, "test": 6 / 15}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_prepares_a_set_of_its_own(kind: str, load_toy: Callable[..., TextData], tmp_path: Path) -> None:
    load_toy(usual())
    data = load_toy(usual(), tokenizer=kind, vocab_size=None if kind == "byte" else 280)
    assert len(list(tmp_path.glob("toy-*.lock"))) == 2
    batch = data.train_batch(0, 0)
    assert 0 <= int(batch.tokens_BL.min()) <= int(batch.tokens_BL.max()) < data.task.vocab_size


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer": "wordpice"}, "data.tokenizer 'wordpice' does not exist .*; did you mean 'wordpiece'"),
        ({"tokenizer": "no/such.json"}, "data.tokenizer=no/such.json is not there"),
        ({"tokenizer": "byte"}, "data.vocab_size=1024 has no meaning .*Set data.vocab_size=null"),
        ({"vocab_size": None}, "data.tokenizer=bpe needs a number of tokens"),
        ({"tokenizer": "char", "vocab_size": 3}, r"at least 4 \(the special tokens and a character\)"),
        ({"tokenizer": "unigram", "vocab_size": 63}, r"at least 64 .* for data.tokenizer=unigram, not 63"),
    ],
)
def test_a_wrong_choice_is_refused(
    changes: dict[str, Any], message: str, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    with pytest.raises(ConfigError, match=message):
        bbc_config(**changes).check()


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """Somebody's file: it ends texts by </s>, names no padding, cuts and pads on its own, and leaves gaps."""
    tokenizer = Tokenizer.from_str(trained("char", TEXT, "abcdefghij").tokenizer.to_str().replace("[EOS]", "</s>"))
    tokenizer = Tokenizer.from_str(tokenizer.to_str().replace("[PAD]", "<unused>"))
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=99)
    path = tmp_path / "theirs" / "tokenizer.json"
    path.parent.mkdir()
    tokenizer.save(str(path))
    return path


def test_a_given_file_is_read_not_trained(given: Path, load_toy: Callable[..., TextData], tmp_path: Path) -> None:
    rows = [Document("abcabc", "train"), Document("ijz", "val"), Document("cccc", "test")]
    size = Tokenizer.from_file(str(given)).get_vocab_size()
    data = load_toy(rows, kind="lm", tokenizer=str(given), vocab_size=None, max_len=2)
    assert data.task.vocab_size == size + 1, "a padding token was added behind the others"
    assert data.info["tokenizer"].startswith("sha256:")
    (prepared,) = tmp_path.glob("toy-????????????????")
    meta, arrays = read(prepared)
    assert meta["pad"] == size
    assert arrays["train"]["tokens"][-1] == EOS, "the id of </s>"
    assert len(arrays["train"]["tokens"]) == 6 + 1
    assert data.info["unknown_share"] == {"train": 0, "val": 1 / 4, "test": 0}


def test_a_files_content_makes_the_run_not_its_place(given: Path, tmp_path: Path) -> None:
    def name(path: Path | str, size: int | None = None) -> str:
        return run_id(settings(values={"data.tokenizer": str(path), "data.vocab_size": size}), "data")

    def key(path: Path) -> str:
        return catalogue._key(catalogue.SOURCES["bbc"], str(path), None)

    copy = tmp_path / "copy.json"
    copy.write_bytes(given.read_bytes())
    assert (name(copy), key(copy)) == (name(given), key(given))
    copy.write_text(given.read_text("utf-8").replace("</s>", "<eos>"), "utf-8")
    assert name(copy) != name(given)
    assert key(copy) != key(given)
    assert len({name(kind, 2048) for kind in KINDS if kind != "byte"}) == len(KINDS) - 1
    source = catalogue.SOURCES["bbc"]
    assert len({catalogue._key(source, kind, 2048) for kind in KINDS}) == len(KINDS)


def test_a_file_that_is_none_says_so(load_toy: Callable[..., TextData], tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(ConfigError, match=r"broken.json is no tokenizer.json of the tokenizers library"):
        load_toy(usual(), tokenizer=str(tmp_path / "broken.json"), vocab_size=None)


def test_padding_has_the_id_of_the_vocabulary(given: Path, load_toy: Callable[..., TextData]) -> None:
    data = load_toy(usual(), tokenizer=str(given), vocab_size=None, batch_size=6, max_len=200)
    batch = data.train_batch(0, 0)
    assert batch.mask_BL is not None
    assert set(np.unique(batch.tokens_BL[~batch.mask_BL])) == {data.task.vocab_size - 1}
