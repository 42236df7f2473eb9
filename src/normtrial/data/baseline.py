"""What is reached without a Transformer on the same documents: the bar that a trial has to clear.

Classification: TF-IDF and logistic regression (scikit-learn) on whole documents, whatever `data.max_len`. Terms
are words and pairs of words; where the text is written without spaces, one to three characters.
Language models: PPMd (prediction by partial matching; variant H of Shkarin 2001), with contexts of up to 12 bytes.
What it needs for a split behind the training split, by difference of compressed sizes; so it goes on learning
within the split, which a Transformer in evaluation does not.

The text is read from the source again and selected by the code that prepares it. `scripts/baseline.py` measures;
the result is kept in `baseline.json` beside the arrays, from where every later run's summary has it.
"""

from __future__ import annotations

import json
import math
import unicodedata
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from normtrial import records
from normtrial.data import catalogue
from normtrial.data.gather import first_bytes, gathered, texts_of
from normtrial.data.prepare import VOCABULARY_BYTES
from normtrial.errors import ConfigError

if TYPE_CHECKING:
    from datasets import Dataset

    from normtrial.data.config import TextConfig

FILE = "baseline.json"  # {"1515+206+403": result, …}, by number of documents of train, val and test
UNSPACED = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR")  # how Unicode names such letters
STRENGTH = 10  # C of the regression: TF-IDF rows have length 1, for which scikit-learn's 1 is too cautious
ORDER, MEMORY = 12, 512 * 2**20  # bytes of context; its contexts of 100 MB of text just fit


def known(folder: Path, documents: dict[str, int]) -> dict[str, Any] | None:
    """The result kept in a prepared folder for that many documents by split."""
    return _kept(folder).get(_name(documents))


def measure(config: TextConfig, cache: Path) -> dict[str, Any]:
    """The result for the configured set: kept from an earlier call, or found now and kept."""
    data = catalogue.load(config, cache)
    if "baseline" in data.info:
        return data.info["baseline"]
    folder = catalogue.prepared(config, cache)
    with gathered(config.chosen(), cache, folder.parent) as found:
        used = data.documents_used()
        documents = {split: found.documents[split].select(range(count)) for split, count in used.items()}
        if data.task.kind == "lm":
            result = compressed(documents, data.task.tokens_per_char)
        else:
            result = regressed(documents)
    result["documents"] = used
    records.write_text(folder / FILE, json.dumps({**_kept(folder), _name(used): result}, indent=2))
    return result


def regressed(documents: dict[str, Dataset]) -> dict[str, Any]:
    """Logistic regression on TF-IDF, with the metrics of `training.metrics` under their names."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import accuracy_score, f1_score
    except ImportError as error:
        raise _missing("scikit-learn") from error
    if without_words(list(islice(texts_of(documents["train"]), 100))):
        terms, analyzer, longest = "1-3 characters", "char", 3
    else:
        terms, analyzer, longest = "1-2 words", "word", 2
    vectorizer = TfidfVectorizer(analyzer=analyzer, ngram_range=(1, longest), min_df=2, sublinear_tf=True)
    regression = LogisticRegression(C=STRENGTH, max_iter=1000)
    try:
        rows = vectorizer.fit_transform(texts_of(documents["train"]))
        regression.fit(rows, documents["train"]["label"][:])
    except ValueError as error:
        raise ConfigError(f"{len(documents['train'])} documents are too few for a baseline: {error}") from error
    metrics = {}
    for split in ("val", "test"):
        labels = documents[split]["label"][:]
        predicted = regression.predict(vectorizer.transform(texts_of(documents[split])))
        metrics[f"{split}/accuracy"] = float(accuracy_score(labels, predicted))
        metrics[f"{split}/macro_f1"] = float(f1_score(labels, predicted, average="macro"))
    model = f"TF-IDF of {terms} + logistic regression"
    return {"model": model, "terms": len(vectorizer.vocabulary_), "metrics": metrics}


def compressed(documents: dict[str, Dataset], tokens_per_char: dict[str, float]) -> dict[str, Any]:
    """PPMd's bits a character, and the same as nats a token of this vocabulary."""
    try:
        from pyppmd import Ppmd7Encoder
    except ImportError as error:
        raise _missing("pyppmd") from error

    def num_bits(text: str) -> int:
        encoder = Ppmd7Encoder(ORDER, MEMORY)
        return 8 * (len(encoder.encode(text.encode())) + len(encoder.flush()))

    train = "\n".join(first_bytes(texts_of(documents["train"]), VOCABULARY_BYTES))
    before, metrics = num_bits(train), {}
    for split in ("val", "test"):
        text = "".join(f"\n{one}" for one in texts_of(documents[split]))
        bits = (num_bits(train + text) - before) / len(text)
        metrics[f"{split}/bits_per_char"] = bits
        metrics[f"{split}/loss_nats"] = bits * math.log(2) / tokens_per_char[split]
    return {"model": f"PPMd of order {ORDER}", "metrics": metrics}


def without_words(texts: list[str]) -> bool:
    """Whether white space separates nothing in these texts: a script without it, or codes such as pixels.

    >>> without_words(["AABQ", "QBAA"]), without_words(["yes", "not at all"])
    (True, False)
    """
    return all(len(text.split()) <= 1 for text in texts) or written_without_spaces("".join(texts))


def written_without_spaces(text: str) -> bool:
    """Whether most letters are of scripts that don't separate words.

    >>> written_without_spaces("中国 A股"), written_without_spaces("한국어 문장"), written_without_spaces("on α")
    (True, False, False)
    """
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(unicodedata.name(letter, "").startswith(UNSPACED) for letter in letters) > len(letters)


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / FILE
    try:
        return json.loads(path.read_text("utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ConfigError(
            f"{path} is damaged ({error}). Delete it; scripts/baseline.py makes it again."
        ) from error


def _name(documents: dict[str, int]) -> str:
    return "+".join(map(str, documents.values()))


def _missing(package: str) -> ConfigError:
    return ConfigError(f"The baseline needs {package}: python -m pip install -c constraints.txt -e '.[baseline]'")
