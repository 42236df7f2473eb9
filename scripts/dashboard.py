"""W&B for local runs: a saved workspace, and what was not mirrored while training: `--help`, `sync --help`."""

import sys

from normtrial.claims.trials.kept import named_runs
from normtrial.dashboard.command import main
from normtrial.errors import ConfigError

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:], named_runs))
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
