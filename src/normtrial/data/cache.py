"""A folder built once, though several processes ask for it at the same time; standard library only.

A builder writes to a scratch folder that is renamed when complete: what exists is whole, whatever was killed.
"""

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from normtrial.errors import ConfigError


def ensure(folder: Path, build: Callable[[Path], None]) -> Path:
    """Return `folder`, having called `build(scratch)` first where it doesn't exist.

    Whoever comes second waits for the first and finds it built.
    """
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = (folder.parent / f"{folder.name}.lock").open("w")
    except OSError as error:
        raise ConfigError(f"The data cache {folder.parent} cannot be written ({error.strerror}).") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.is_dir():
            _build(folder, build)
    return folder


def _build(folder: Path, build: Callable[[Path], None]) -> None:
    prefix = f"{folder.name}.building-"
    for stale in folder.parent.glob(f"{prefix}*"):  # we hold the lock, so its builder was killed
        shutil.rmtree(stale, ignore_errors=True)
    print(f"preparing {folder.name}, once …", file=sys.stderr, flush=True)
    scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        scratch.chmod(0o755)  # mkdtemp is for secrets; a cache may be shared
        build(scratch)
        scratch.replace(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
