"""Preparation on documents of our own: cleaning, duplicates, a tokenizer blind to evaluation text."""

from collections.abc import Callable

from tokenizers import Tokenizer

from normtrial.data.arrays import read
from normtrial.data.dataset import TextData
from normtrial.data.sources.source import Document
from normtrial.data.tokenizer.vocabulary import EOS, PAD

SENTENCE = "the norm of a layer stands before or after the block and nobody knows which is better"


def some(split: str, label: str, count: int, extra: str = "") -> list[Document]:
    return [Document(f"{split} {label} {number} {extra} {SENTENCE}", split, label) for number in range(count)]


def usual(extra: str = "") -> list[Document]:
    """A few documents of two classes in each split; `extra` is added to those of evaluation only."""
    return [
        document
        for label in ("good", "bad")
        for split, count in (("train", 6), ("val", 3), ("test", 3))
        for document in some(split, label, count, extra if split != "train" else "")
    ]


def test_the_tokenizer_is_trained_on_the_training_split_only(load_toy: Callable[..., TextData], tmp_path) -> None:
    load_toy(usual(extra="zyzzyva zyzzyva zyzzyva"), vocab_size=2000)
    (saved,) = tmp_path.glob("toy-*/tokenizer.json")
    words = {word.strip("Ġ") for word in Tokenizer.from_file(str(saved)).get_vocab()}
    assert "knows" in words
    assert not any("zy" in word or "val" in word for word in words)


def test_duplicates_conflicts_and_empty_texts_are_dropped_and_counted(
    load_toy: Callable[..., TextData],
) -> None:
    data = load_toy(
        [
            *usual(),
            Document("Twice the same", "train", "good"),
            Document("twice  the\nSAME ", "val", "good"),
            Document("loved and hated", "train", "good"),
            Document("Loved and hated", "test", "bad"),
            Document(" \r\n\0", "train", "bad"),
        ]
    )
    assert data.info["dropped"] == {"empty": 1, "duplicates": 1, "conflicting_labels": 2}
    assert data.info["documents"] == {"train": 13, "val": 6, "test": 6}


def test_an_official_test_split_stays_as_published(load_toy: Callable[..., TextData]) -> None:
    extra = [
        Document("Seen before", "train", "good"),
        Document("seen  before", "test", "good"),
        Document("seen before", "test", "good"),
        Document("mislabelled", "val", "bad"),
        Document("mislabelled", "test", "good"),
        Document("twice", "train", "bad"),
        Document("twice", "val", "bad"),
    ]
    data = load_toy([*usual(), *extra], official_test=True)
    assert data.info["dropped"] == {"empty": 0, "duplicates": 1, "conflicting_labels": 0, "also_in_test": 2}
    assert data.info["documents"] == {"train": 13, "val": 6, "test": 9}
    # Where nobody published it, the test split is cleaned like the others.
    data = load_toy([*usual(), *extra])
    assert data.info["dropped"] == {"empty": 0, "duplicates": 3, "conflicting_labels": 2}


def test_a_text_cannot_spell_a_special_token(load_toy: Callable[..., TextData], tmp_path) -> None:
    load_toy([*usual(), Document("[EOS] [PAD] £ 语", "train", "bad")])
    (saved,) = tmp_path.glob("toy-*/tokenizer.json")
    _, arrays = read(saved.parent)
    assert not {PAD, EOS} & set(arrays["train"]["tokens"].tolist())
    tokenizer = Tokenizer.from_file(str(saved))
    assert "[EOS] [PAD] £ 语" in tokenizer.decode(arrays["train"]["tokens"].tolist())


def test_characters_and_tokens_are_counted(load_toy: Callable[..., TextData]) -> None:
    data = load_toy(
        [Document("abc" * 9, split) for split in ("train",)]
        + [
            Document("xyz" * 5, "val"),
            Document("uvw" * 5, "test"),
        ],
        kind="lm",
        vocab_size=258,
        max_len=4,
    )  # bytes only: one token a character, one more for the end
    assert data.task.tokens_per_char == {"train": 28 / 27, "val": 16 / 15, "test": 16 / 15}
    assert data.info["examples"] == {"train": 6, "val": 3, "test": 3}


def test_content_decides_the_fingerprint(load_toy: Callable[..., TextData]) -> None:
    plain = load_toy(usual())
    assert load_toy(list(reversed(usual()))).fingerprint == plain.fingerprint
    assert load_toy(usual(extra="more")).fingerprint != plain.fingerprint
