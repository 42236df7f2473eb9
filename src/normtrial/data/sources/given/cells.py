"""What is in a cell: text, a label, or the reason why it is neither."""

import math
import re
from collections.abc import Sequence
from typing import Any

from normtrial.errors import ConfigError

UNLABELLED = -1  # the class index by which sets of the Hub say that a label is withheld


def text_in(value: Any) -> tuple[str, str]:
    """The text, and the reason to leave it out, empty where there is none.

    >>> text_in("good"), text_in(float("nan")), text_in(7), text_in("\\ud800")
    (('good', ''), ('', ''), ('', 'not_text'), ('', 'not_unicode'))
    """
    if is_missing(value):
        return "", ""  # counted as empty, as every text without a character is
    if not isinstance(value, str):
        return "", "not_text"
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can spell
        return "", "not_unicode"
    return value, ""


def label_in(value: Any, column: str, names: Sequence[str] | None = None) -> str:
    """The name of a label, empty where it is missing; `names` are those of the Hub's class indices.

    >>> [label_in(value, "stars") for value in (1, 1.0, "1", "1.0", " 1 ", 4.5, "good", None, "", "NaN")]
    ['1', '1', '1', '1', '1', '4.5', 'good', '', '', '']
    >>> [label_in(value, "label", ["neg", "pos"]) for value in (1, -1)]
    ['pos', '']
    """
    if isinstance(value, list | dict):
        raise ConfigError(
            f"data.label={column!r} holds several values for one document ({str(value)[:40]}), not a label."
        )
    if is_missing(value):
        return ""
    if names is not None and isinstance(value, int):
        return "" if value == UNLABELLED else names[value]
    text = str(value).strip()
    whole = re.fullmatch(r"([+-]?\d+)\.0*", text)
    return whole[1] if whole else text


def is_missing(value: Any) -> bool:
    """None, NaN, or the word by which pandas writes NaN into a text file.

    >>> [is_missing(value) for value in (None, float("nan"), "nan", "", 0, "none")]
    [True, True, True, False, False, False]
    """
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or (isinstance(value, str) and value.strip().lower() == "nan")
