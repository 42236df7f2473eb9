"""Our own switches on the command line, which Hydra does not know: taken out before it reads the rest."""

from normtrial.errors import ConfigError

SHOW_WIRING = "--show-wiring"
FLAGS = (SHOW_WIRING,)

_given: set[str] = set()


def take_flags(arguments: list[str]) -> list[str]:
    """What is left for Hydra; what was taken is remembered.

    Raises:
        ConfigError: a flag beside a sweep.
    """
    _given.clear()
    _given.update(argument for argument in arguments if argument in FLAGS)
    if _given and {"-m", "--multirun"} & set(arguments):
        raise ConfigError(f"{', '.join(sorted(_given))} is for one configuration; leave out -m.")
    rest = [argument for argument in arguments if argument not in FLAGS]
    return sorted(rest, key=lambda argument: argument not in ("-m", "--multirun"))  # Hydra wants it first


def was_given(flag: str) -> bool:
    """True where this command had the flag."""
    return flag in _given
