"""The `data` group for text that a user brings: `data=files`, `data=files_lm`, `data=hub`, `data=hub_lm`.

Where text comes from (`path`, `train`, `val`, `test`, `streaming`, `revision`) is no part of the run id: what was
read is.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from normtrial.data.config import ClassificationConfig, LanguageModelConfig
from normtrial.data.sources.given.encoding import known_encoding
from normtrial.data.sources.given.files import FilesSource
from normtrial.data.sources.given.hub import HubSource
from normtrial.data.sources.given.source import Columns
from normtrial.errors import ConfigError, not_one_of, require

SAMPLE_BY = ("document", "paragraph", "line")


@dataclass(kw_only=True)
class GivenConfig:
    """Where the text is, and which of it serves as what."""

    __slots__ = ()  # a base beside TextConfig, which has the slots; two bases with slots cannot be joined
    kind: ClassVar[str]
    source: str
    path: str  # files: a file, a pattern or a folder; hub: an id, or a local folder laid out like a repository
    text: str  # column
    train: str | None  # files: a file or pattern below the path; hub: a published split; null finds it by its name
    val: str | None  # the same; null finds it, or cuts it from train
    test: str | None
    max_documents: int | None  # read of each split, the first ones; null reads all

    def columns(self) -> Columns:
        """What is read of a row, checked."""
        require(bool(re.fullmatch(r"\w[\w-]*", self.source)), f"data.source={self.source!r} must be a plain name.")
        require(bool(self.path.strip()), "data.path is empty.")
        require(
            self.max_documents is None or self.max_documents >= 1,
            f"data.max_documents must be at least 1 document, or null for all of them, not {self.max_documents}.",
        )
        start = getattr(self, "document_start", None)
        try:
            re.compile(start or "")
        except re.error as error:
            raise ConfigError(f"data.document_start={start!r} is no regular expression: {error}.") from error
        return Columns(
            text=self.text,
            label=getattr(self, "label", None),
            document_start=start,
            max_documents=self.max_documents,
        )

    def given(self) -> dict[str, str]:
        """What was said of splits."""
        named = {"train": self.train, "val": self.val, "test": self.test}
        return {role: name for role, name in named.items() if name is not None}


@dataclass(kw_only=True)
class FilesConfig(GivenConfig):
    """CSV, TSV, JSON lines, Parquet or plain text."""

    __slots__ = ()
    encoding: str  # of text files, as Python calls it
    sample_by: str  # plain text: document (the file), paragraph or line is one document

    def chosen(self) -> FilesSource:
        """The source of the text."""
        known_encoding(self.encoding)
        if self.sample_by not in SAMPLE_BY:
            raise not_one_of("data.sample_by", self.sample_by, SAMPLE_BY)
        return FilesSource(
            self.source, self.kind, self.columns(), self.path, self.given(), self.encoding, self.sample_by
        )


@dataclass(kw_only=True)
class HubConfig(GivenConfig):
    """A set of the Hugging Face Hub."""

    __slots__ = ()
    name: str | None  # the subset (a "configuration" on the Hub); null where there is one
    revision: str | None  # branch, tag or commit; null is the newest
    streaming: bool  # read without downloading all of it first

    def chosen(self) -> HubSource:
        """The source of the text."""
        return HubSource(
            self.source,
            self.kind,
            self.columns(),
            self.path,
            self.name,
            self.revision,
            self.streaming,
            self.given(),
        )


@dataclass(kw_only=True, slots=True)
class LabelledFilesConfig(FilesConfig, ClassificationConfig):
    """Files of labelled documents."""

    label: str  # column; plain text is labelled by its folder


@dataclass(kw_only=True, slots=True)
class PlainFilesConfig(FilesConfig, LanguageModelConfig):
    """Files for a language model."""

    document_start: str | None  # regular expression: rows from one that matches to the next are one document


@dataclass(kw_only=True, slots=True)
class LabelledHubConfig(HubConfig, ClassificationConfig):
    """A set of the Hub with labels."""

    label: str  # column


@dataclass(kw_only=True, slots=True)
class PlainHubConfig(HubConfig, LanguageModelConfig):
    """A set of the Hub for a language model."""

    document_start: str | None  # regular expression: rows from one that matches to the next are one document


SCHEMAS = {
    "files": LabelledFilesConfig,
    "files_lm": PlainFilesConfig,
    "hub": LabelledHubConfig,
    "hub_lm": PlainHubConfig,
}
