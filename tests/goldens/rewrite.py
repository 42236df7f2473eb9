"""Write steps.json anew, and say what changed: `python -m tests.goldens.rewrite [bn/pre/lm …]`.

Without names all arms are written and those that no longer exist dropped. A change that only moves code writes the
same file; commit a different one together with the reason.
"""

import sys

from tests.goldens.trajectories import names, read, trajectory, write


def main(wanted: list[str]) -> None:
    """Rewrite the arms that are named, or all."""
    before = read()
    after = {name: steps for name, steps in before.items() if name in names()}
    for name in wanted or names():
        after[name] = trajectory(name)
    write(after)
    written = read()
    for name in sorted(before.keys() | written.keys()):
        if before.get(name) != written.get(name):
            kind = "new" if name not in before else "dropped" if name not in written else "changed"
            print(f"{kind}: {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
