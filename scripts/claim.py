"""Claims on trial: `python scripts/claim.py --help`."""

import sys

from normtrial.claims.command import main
from normtrial.errors import ConfigError

if __name__ == "__main__":
    try:
        sys.exit(main())
    except ConfigError as error:
        sys.exit(f"normtrial: {error}")
    except KeyboardInterrupt:  # the sweep has said what is left
        sys.exit(130)
