"""`python train.py` on a disk whose every sync takes 50 ms: long enough for a kill to fall into a writing.

Started by test_kills.py.
"""

import os
import runpy
import sys
import time
from pathlib import Path

SYNC_S = 0.05
sync = os.fsync


def slow_sync(descriptor: int) -> None:
    time.sleep(SYNC_S)
    sync(descriptor)


if __name__ == "__main__":
    os.fsync = slow_sync
    sys.argv[0] = str(Path(__file__).parents[2] / "train.py")
    runpy.run_path(sys.argv[0], run_name="__main__")
