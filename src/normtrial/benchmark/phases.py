"""One run in this process, with the time at the end of each of its phases: `startup` calls it in a fresh one.

    python -m normtrial.benchmark.phases OVERRIDE…      prints {"import": seconds, …} by the monotonic clock

Nothing but the standard library is imported before the clock runs, and no part of the product knows of this one:
what a phase ends with is wrapped from outside.
"""

import json
import sys
import time
from typing import Any

PHASES = ("interpreter", "import", "compose", "data", "model", "first step", "the rest")


def main(overrides: list[str]) -> dict[str, float]:
    """Train as `train.py` does; the time at the end of every phase."""
    ended = {"interpreter": time.monotonic()}

    def ends(phase: str, owner: Any, name: str) -> None:
        """A phase is over when this returns for the first time."""
        work = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            result = work(*args, **kwargs)
            ended.setdefault(phase, time.monotonic())
            return result

        setattr(owner, name, timed)

    import hydra  # noqa: F401  # as train.py does

    from normtrial import config, run

    ended["import"] = time.monotonic()
    settings = config.compose(*overrides)
    ended["compose"] = time.monotonic()
    ends("data", run.catalogue, "load")
    ends("model", run, "build_setup")
    ends("first step", run.Loop, "_step")
    run.execute(settings, config.Job())
    ended["the rest"] = time.monotonic()
    return ended


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))
