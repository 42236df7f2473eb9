"""Every text set by name. `load(config, cache)` turns a `data` config into batches."""

from __future__ import annotations

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from normtrial.data import cache as folders
from normtrial.data.sources import (
    bbc,
    cachopo,
    headlines_zh,
    movies_long,
    news_zh,
    reviews_zh,
    sotu,
    sotu_era,
)
from normtrial.data.sources.source import Source
from normtrial.errors import ConfigError, not_one_of

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
}


def find(name: str, kind: str) -> Source:
    """The source of that name; a `ConfigError` where there is none or where it serves another task."""
    if name not in SOURCES:
        raise not_one_of("data.source", name, SOURCES)
    source = SOURCES[name]
    if source.kind != kind:
        raise ConfigError(
            f"data.source {name!r} is a set for {source.kind}, not for {kind}: choose it by data={name}."
        )
    return source


def load(config: TextConfig, cache: Path) -> TextData:
    """Batches of the configured set, prepared below `cache` on the first call and read from there later."""
    # torch, tokenizers and datasets only now: `--help` and a misspelt key must answer at once.
    from normtrial.data.dataset import open_data

    config.check()
    source = config.chosen()

    def build(folder: Path) -> None:
        from normtrial.data.prepare import prepare

        prepare(source, config.vocab_size, folder, cache)

    folder = cache / f"{source.name}-{_key(source, config.vocab_size)}"
    return open_data(folders.ensure(folder, build), config)


def _key(source: Source, vocab_size: int) -> str:
    """Changes with all that prepared arrays depend on: text, vocabulary, our code, version of tokenizers."""
    here = Path(__file__).parent
    code = [
        *(here / f"{name}.py" for name in ("prepare", "select", "arrays", "tokenizer")),
        *sorted((here / "sources").rglob("*.py")),
    ]
    parts = [
        source.identity,
        vocab_size,
        metadata.version("tokenizers"),
        *(path.read_text("utf-8") for path in code),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
