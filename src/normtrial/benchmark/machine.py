"""How fast this machine multiplies and copies on torch's threads: what all else is held against.

The best of several times, CPU time a thread: whatever else runs can only slow them, and waiting for a core is not
counted.
"""

import functools
import os
import platform
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import torch

GEMM_SIZE = 1024  # large enough for the library's full speed, small enough for 50 ms
COPIED_BYTES = 1 << 27  # 128 MiB, beyond any cache


def machine() -> dict[str, Any]:
    """On what figures were taken, and how fast it is."""
    return {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "torch": torch.__version__,
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],  # processes that wanted to run at the end, over a minute; ours is one
        **rates(),
    }


def rates() -> dict[str, float]:
    """`gemm_gflops`, floating-point operations in 10⁹/s, and `copy_gb_per_s`, bytes read and written in 10⁹/s.

    Measured once a process for a number of threads.
    """
    return dict(_rates(torch.get_num_threads()))


@functools.cache
def _rates(num_threads: int) -> dict[str, float]:
    one, other = torch.randn(GEMM_SIZE, GEMM_SIZE), torch.randn(GEMM_SIZE, GEMM_SIZE)
    product = torch.empty_like(one)
    source = torch.ones(COPIED_BYTES // 4)
    copy = torch.zeros_like(source)
    return {
        "gemm_gflops": 2 * GEMM_SIZE**3 / _best(lambda: torch.mm(one, other, out=product)) / 1e9,
        "copy_gb_per_s": 2 * COPIED_BYTES / _best(lambda: copy.copy_(source)) / 1e9,
    }


def _best(work: Callable[[], Any], times: int = 10) -> float:
    """Seconds of the fastest; the first one, which touches memory for the first time, does not count."""
    seconds = []
    for _ in range(times + 1):
        began = time.process_time()
        work()
        seconds.append((time.process_time() - began) / torch.get_num_threads())
    return min(seconds[1:])
