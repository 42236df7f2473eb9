"""What a run asks of malloc."""

import subprocess
import sys
from pathlib import Path

import pytest

ASKS = """
import ctypes
from pathlib import Path
from normtrial.training.process.memory import keep_freed_memory
keep_freed_memory()
library = ctypes.CDLL("libc.so.6")
library.malloc.restype = ctypes.c_void_p
block = library.malloc(ctypes.c_size_t(1 << 28))
inside = False
for line in Path("/proc/self/smaps").read_text().splitlines():
    if "-" in line.split(" ")[0]:
        start, end = (int(number, 16) for number in line.split(" ")[0].split("-"))
        inside = start <= block + (1 << 27) < end
    elif inside and line.startswith("VmFlags"):
        print("hg" in line.split())
"""


@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="a kernel without huge pages")
def test_large_blocks_are_taken_from_huge_pages() -> None:
    done = subprocess.run([sys.executable, "-c", ASKS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
