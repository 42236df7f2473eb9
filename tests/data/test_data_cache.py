"""The cache: built once, whole or not at all, quick to read."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from normtrial.data import cache as folders
from normtrial.data import catalogue
from normtrial.data.config import ClassificationConfig
from normtrial.data.dataset import TextData
from normtrial.errors import ConfigError

SECOND_START = """
import sys, time, torch
from pathlib import Path
from normtrial.data import catalogue
from normtrial.data.config import ClassificationConfig
assert not {"datasets", "tokenizers"} & set(sys.modules)
started = time.perf_counter()
data = catalogue.load(ClassificationConfig(**VALUES), Path(sys.argv[1]))
data.train_batch(0, 0)
print(time.perf_counter() - started, sorted({"datasets", "tokenizers", "pandas"} & set(sys.modules)))
"""

SLOW_BUILD = """
import sys, time
from pathlib import Path
from normtrial.data.cache import ensure
folder = Path(sys.argv[1])
def build(scratch):
    with (folder.parent / "builders").open("a") as log:
        log.write("one\\n")
    time.sleep(0.5)
    (scratch / "whole").touch()
assert (ensure(folder, build) / "whole").exists()
"""


def test_the_second_start_is_quick_and_imports_no_heavy_library(
    bbc: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    values = {name: getattr(bbc_config(), name) for name in bbc_config().__dataclass_fields__ if name != "kind"}
    code = SECOND_START.replace("VALUES", repr(values))
    done = subprocess.run([sys.executable, "-c", code, cache], capture_output=True, text=True, check=True)
    seconds, imported = done.stdout.split(maxsplit=1)
    assert float(seconds) < 1
    assert imported.strip() == "[]"


def test_configs_are_checked_without_torch() -> None:
    code = "import sys, normtrial.data.config; sys.exit(bool({'torch', 'datasets'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_two_processes_build_once(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    processes = [subprocess.Popen([sys.executable, "-c", SLOW_BUILD, folder]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert (tmp_path / "builders").read_text() == "one\n"


def test_a_failed_build_leaves_nothing_and_a_killed_one_is_swept_up(tmp_path: Path) -> None:
    folder = tmp_path / "set"

    def broken(scratch: Path) -> None:
        (scratch / "half").touch()
        raise RuntimeError("no power")

    with pytest.raises(RuntimeError, match="no power"):
        folders.ensure(folder, broken)
    assert [path.name for path in tmp_path.iterdir()] == ["set.lock"]
    (tmp_path / "set.building-abc").mkdir()
    folders.ensure(folder, lambda scratch: (scratch / "whole").touch())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "set.lock"]


def test_what_is_prepared_depends_on_vocabulary_but_not_on_batches(
    bbc: TextData, sotu: TextData, cache: Path, bbc_config: Callable[..., ClassificationConfig]
) -> None:
    before = sorted(cache.iterdir())
    catalogue.load(bbc_config(batch_size=4, max_len=9, limit=50, batching="bucket"), cache)
    assert sorted(cache.iterdir()) == before
    source = catalogue.SOURCES["bbc"]
    assert catalogue._key(source, "bpe", 1024) != catalogue._key(source, "bpe", 1025)


def test_a_damaged_cache_says_so(load_toy: Callable[..., TextData], tmp_path: Path) -> None:
    from normtrial.data.arrays import read

    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "meta.json").write_text("{")
    with pytest.raises(ConfigError, match="damaged"):
        read(folder)


def test_a_cache_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        folders.ensure(tmp_path / "file" / "set", lambda _: None)
