"""The kinds of text set, and a prepared folder opened as one."""

from pathlib import Path

from normtrial.data import baseline
from normtrial.data.arrays import read
from normtrial.data.config import TextConfig
from normtrial.data.dataset import TextData
from normtrial.data.labelled import LabelledDocuments
from normtrial.data.packed import PackedWindows

KINDS = {"classification": LabelledDocuments, "lm": PackedWindows}


def open_data(folder: Path, config: TextConfig) -> TextData:
    """The batches of a prepared folder."""
    meta, arrays = read(folder)
    data = KINDS[config.kind](config, meta, arrays, folder)
    if found := baseline.known(folder, data.documents_used()):
        data.info["baseline"] = found
    return data
