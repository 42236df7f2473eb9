"""Every text set by name. `load(config, cache)` turns a `data` config into batches."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from normtrial.data import cache as folders
from normtrial.data.sources import (
    bbc,
    cachopo,
    digits,
    headlines_zh,
    movies_long,
    news_zh,
    reviews_zh,
    sotu,
    sotu_era,
)
from normtrial.data.sources.source import Source
from normtrial.data.tokenizer import catalogue as tokenizers
from normtrial.errors import ConfigError, not_one_of, require

if TYPE_CHECKING:
    from normtrial.data.config import TextConfig
    from normtrial.data.dataset import TextData

SOURCES: dict[str, Source] = {
    "bbc": bbc.SOURCE,
    "sotu": sotu.SOURCE,
    "newsgroups20": cachopo.NEWSGROUPS20,
    "reuters8": cachopo.REUTERS8,
    "reuters52": cachopo.REUTERS52,
    "movies_long": movies_long.SOURCE,
    "sotu_era": sotu_era.SOURCE,
    "reviews_zh": reviews_zh.SOURCE,
    "headlines_zh": headlines_zh.SOURCE,
    "news_zh": news_zh.SOURCE,
    "digits": digits.SOURCE,
}
MADE = ("order", "copy")  # by the options of their own schemas, in data.synthetic


def find(name: str, kind: str) -> Source:
    """The source of that name; a `ConfigError` where there is none or where it serves another task."""
    require(name not in MADE, f"data.source {name!r} is made of its own options: choose it by data={name}.")
    if name not in SOURCES:
        raise not_one_of("data.source", name, [*SOURCES, *MADE])
    source = SOURCES[name]
    if source.kind != kind:
        raise ConfigError(
            f"data.source {name!r} is a set for {source.kind}, not for {kind}: choose it by data={name}."
        )
    return source


def load(config: TextConfig, cache: Path) -> TextData:
    """Batches of the configured set, prepared below `cache` on the first call and read from there later."""
    # torch, tokenizers and datasets only now: `--help` and a misspelt key must answer at once.
    from normtrial.data.kinds import open_data

    return open_data(prepared(config, cache), config)


def fingerprint(config: TextConfig, cache: Path) -> str:
    """What names the content of the configured set, without opening its arrays; prepared first where it isn't."""
    return json.loads((prepared(config, cache) / "meta.json").read_text("utf-8"))["fingerprint"]


def prepared(config: TextConfig, cache: Path) -> Path:
    """The folder of the configured set's arrays below `cache`, made on the first call."""
    config.check()
    source = config.chosen()

    def build(folder: Path) -> None:
        from normtrial.data.prepare import prepare

        prepare(source, config.tokenizer, config.vocab_size, folder, cache)

    folder = cache / f"{source.name}-{_key(source, config.tokenizer, config.vocab_size)}"
    return folders.ensure(folder, build)


def _key(source: Source, tokenizer: str, vocab_size: int | None) -> str:
    """Changes with all that prepared arrays depend on: text, vocabulary, our code, versions of libraries."""
    here = Path(__file__).parent
    code = [
        *(here / f"{name}.py" for name in ("prepare", "gather", "select", "arrays")),
        *sorted((here / "tokenizer").glob("*.py")),
        *sorted((here / "sources").rglob("*.py")),
    ]
    parts = [
        source.identity,
        tokenizers.identity(tokenizer),
        vocab_size,
        *tokenizers.versions(tokenizer),
        *(path.read_text("utf-8") for path in code),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
