"""What a user reads when the input is wrong: what was given, what is allowed, and the closest match.

Raise `ConfigError` for anything a user can mend; `assert` for what only a developer can.
"""

import difflib
import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

NOT_WRITABLE = {
    getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "EEXIST", "ENOTDIR")
}


class ConfigError(ValueError):
    """Wrong input, found before any compute is spent; the command line prints it without a traceback."""


def closest(given: str, allowed: Iterable[str]) -> str | None:
    """The allowed name nearest to `given`, or None where nothing is near.

    >>> closest("lm", ["ln", "bn", "rms"])
    'ln'
    """
    matches = difflib.get_close_matches(given, list(allowed), n=1, cutoff=0.4)
    return matches[0] if matches else None


def not_one_of(what: str, given: object, allowed: Iterable[str], where: str = "") -> ConfigError:
    """The error for a name that is not in a list.

    >>> print(not_one_of("norm", "lm", ["bn", "ln"]))
    norm 'lm' does not exist; did you mean 'ln'? Allowed: bn, ln.
    """
    names = sorted(allowed)
    near = closest(str(given), names)
    hint = f"; did you mean {near!r}?" if near else "."
    return ConfigError(f"{what} {str(given)!r} does not exist{where}{hint} Allowed: {', '.join(names)}.")


def require(condition: bool, message: str) -> None:
    """Raise `ConfigError(message)` unless the condition holds."""
    if not condition:
        raise ConfigError(message)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """A disk that is full or may not be written is no fault of the program's: said in a line."""
    try:
        yield
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise
        raise ConfigError(
            f"store: {error.filename or folder} cannot be written: {error.strerror}. "
            "Once it can be, the same command goes on from the last checkpoint."
        ) from error
