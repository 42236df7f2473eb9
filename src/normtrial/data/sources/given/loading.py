"""The one call of `datasets.load_dataset`, and what it complains about in a line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from normtrial.errors import ConfigError


def load(path: str, **options: Any) -> Any:
    """What `datasets.load_dataset` returns, imported only now: a second start reads prepared arrays."""
    import datasets

    return datasets.load_dataset(path, **options)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn the library's errors into a `ConfigError` that begins with `what`; stack traces help no user here."""
    from datasets.exceptions import DatasetsError

    try:
        yield
    except ConfigError:
        raise
    except ConnectionError as error:
        raise ConfigError(
            f"{what}: the Hub cannot be reached. HF_HUB_OFFLINE=1 makes do with what `datasets` has kept of it; "
            "data.path may also be a local folder laid out like the repository."
        ) from error
    except (OSError, ValueError, TypeError, KeyError, RuntimeError, DatasetsError) as error:
        cause = error.__cause__ if isinstance(error, DatasetsError) and error.__cause__ else error
        said = " ".join(str(cause).split()) or type(cause).__name__
        raise ConfigError(f"{what} cannot be read: {said[:300]}") from error
