"""Words are shuffled and dropped exactly as defined, and a text comes back from its tokens as it was."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from normtrial.data.arrays import read
from normtrial.data.dataset import TextData
from normtrial.data.tokenizer import catalogue as tokenizers
from normtrial.data.tokenizer.vocabulary import EOS
from normtrial.data.view import View
from normtrial.data.words import WORD, Words, dropped, reworded, shuffled

TEXT = "  One two,\tthree four\n\nfive six  seven eight nine ten. "
CHINESE = "他说：我爱AI 2.0。"
NOTHING = Words("shuffle", 1e-9, 0)  # of no text so much as a word


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def moved(before: str, after: str) -> list[int]:
    pairs = zip(WORD.findall(before), WORD.findall(after), strict=True)
    return [at for at, (one, other) in enumerate(pairs) if one != other]


def test_a_word_is_a_han_character_or_what_stands_between_white_space() -> None:
    assert WORD.findall(CHINESE) == ["他", "说", "：", "我", "爱", "AI", "2.0。"]
    assert WORD.findall(TEXT)[:3] == ["One", "two,", "three"]


@pytest.mark.parametrize(("share", "num"), [(0.2, 2), (0.25, 3), (0.5, 5), (1.0, 10), (0.1, 0), (0.04, 0)])
def test_so_many_words_move_and_nothing_else(share: float, num: int) -> None:
    """A single one (a share of 0.1 of ten) has nowhere to go."""
    for seed in range(20):
        after = shuffled(TEXT, share, draw(seed))
        assert len(moved(TEXT, after)) == num
        assert Counter(WORD.findall(after)) == Counter(WORD.findall(TEXT))
        assert WORD.split(after) == WORD.split(TEXT), "white space stays where it is"


@pytest.mark.parametrize(("share", "num"), [(0.1, 1), (0.25, 3), (0.5, 5), (0.99, 9), (0.04, 0)])
def test_so_many_words_are_dropped_and_one_stays(share: float, num: int) -> None:
    for seed in range(20):
        kept = WORD.findall(dropped(TEXT, share, draw(seed)))
        assert len(kept) == 10 - num
        assert [word for word in WORD.findall(TEXT) if word in kept] == kept, "in order"


def test_texts_without_words_stay() -> None:
    for text in ("", " \n", "one"):
        assert shuffled(text, 1.0, draw(0)) == text
        assert dropped(text, 0.9, draw(0)) == text


def test_a_larger_share_concerns_the_words_of_a_smaller_one_and_more() -> None:
    for seed in range(10):
        few, many = (set(moved(TEXT, shuffled(TEXT, share, draw(seed)))) for share in (0.3, 0.7))
        assert few < many
        kept = [Counter(WORD.findall(dropped(TEXT, share, draw(seed)))) for share in (0.3, 0.7)]
        assert kept[1] < kept[0]


def test_documents_and_seeds_are_shuffled_differently() -> None:
    texts = {Words("shuffle", 1.0, seed).changed(TEXT, document) for seed in (0, 1) for document in (0, 1)}
    assert len(texts) == 4
    assert Words("shuffle", 1.0, 0).changed(TEXT, 1) == Words("shuffle", 1.0, 0).changed(TEXT, 1)


@pytest.mark.parametrize("name", ["bbc", "sotu"])
def test_an_unchanged_text_has_the_same_tokens_again(
    name: str, cache: Path, request: pytest.FixtureRequest
) -> None:
    data: TextData = request.getfixturevalue(name)
    folder = next(path for path in sorted(cache.glob(f"{name}-????????????????")))
    _, arrays = read(folder)
    again = reworded(arrays["val"], len(arrays["val"]["labels"]), NOTHING, folder / "tokenizer.json")
    for key, values in again.arrays.items():
        assert np.array_equal(values, arrays["val"][key]), key
    assert again.tokens_per == pytest.approx({unit: data.tokens_per(unit, "val") for unit in ("chars", "bytes")})


@pytest.mark.parametrize("kind", ["char", "word", "wordpiece", "unigram"])
def test_what_a_vocabulary_does_not_know_stays_in_its_place(kind: str) -> None:
    texts = ["the cat sat on the mat and the cat sat on the mat", "a cat and a mat and the cat and the mat"]
    vocabulary = tokenizers.make(kind, 24 if kind != "word" else 8, lambda: iter(texts))
    ids = vocabulary.encode(["the cat, Ωmega, and the mat", "ζ"])
    assert vocabulary.unk in ids[0]
    again = vocabulary.encode(vocabulary.decode(ids))
    assert again == ids


def test_a_shuffled_language_keeps_the_ends_of_its_documents(sotu: TextData) -> None:
    view = View(words=Words("shuffle", 1.0, 0))
    plain, changed = ([b.tokens_BL for b in sotu.eval_batches("val", v)] for v in (View(), view))
    assert sum(len(tokens_BL) for tokens_BL in changed) == sotu.eval_size("val", view)
    assert (plain[0] != changed[0]).float().mean() > 0.9
    ends = [sum(int((tokens_BL == EOS).sum()) for tokens_BL in found) for found in (plain, changed)]
    assert abs(ends[0] - ends[1]) <= 1  # the shuffled stream has more tokens, and windows end earlier in it
    assert sotu.tokens_per("chars", "val", view) > sotu.tokens_per("chars", "val")
