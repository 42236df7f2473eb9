"""What `python train.py --help` prints: every group with its options, one line each, read from conf/.

Standard library only: importing torch takes two seconds, and Hydra's own page two more.
"""

import sys
from itertools import takewhile
from pathlib import Path

CONF = Path(__file__).parents[2] / "conf"
FOREIGN = ("hydra", "wandb")  # folders of conf/ with options of theirs, not of a trial

TEMPLATE = """\
normtrial: which normalization, where, with which eps and affine, for this Transformer on this text?

  python train.py norm=bn placement=pre               one run
  python train.py norm=bn norm.eps=1e-3 seed=1        any value by its dotted name
  python train.py -m norm=bn,ln seed=0,1,2            a sweep over all combinations, compared at the end
  python train.py experiment=quick_look               a recipe from conf/experiment/
  python train.py --cfg job norm=rms                  the whole configuration, without running
  python train.py --show-wiring placement=hybrid      what stands where in a block, without running

{groups}

Root keys (conf/config.yaml): seed, store, cache, device=auto|cpu|cuda, compile, rerun, wait,
  train.{{{train}}}
  eval.{{{evaluation}}}
  sweep.{{{sweep}}}
Runs are kept in `store`, one folder a run; the same configuration is not trained twice unless rerun=true.
"""


def help_is_wanted() -> bool:
    """Whether this process was started with --help."""
    return bool({"-h", "--help"} & set(sys.argv[1:]))


def help_text(conf: Path | str = CONF) -> str:
    """The page, with `*` at the options that are chosen by default."""
    conf = Path(conf)
    lines = (conf / "config.yaml").read_text(encoding="utf-8").splitlines()
    chosen = {line.strip().removeprefix("- ").split("#")[0].strip() for line in lines}
    sections = []
    for folder in sorted(path for path in conf.iterdir() if path.is_dir() and path.name not in FOREIGN):
        options = sorted(folder.glob("*.yaml"))
        width = max((len(path.stem) for path in options), default=0)
        rows = [
            f"  {'*' if f'{folder.name}: {path.stem}' in chosen else ' '} {path.stem:<{width}}  {describe(path)}"
            for path in options
        ]
        sections.append("\n".join([f"{folder.name}=…", *rows]))
    train, evaluation, sweep = (", ".join(_keys(lines, node)) for node in ("train", "eval", "sweep"))
    return TEMPLATE.format(groups="\n\n".join(sections), train=train, evaluation=evaluation, sweep=sweep)


def _keys(lines: list[str], node: str) -> list[str]:
    """The keys of a node of the root file."""
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{node}:")) + 1
    return [line.split(":")[0].strip() for line in takewhile(lambda line: line.startswith("  "), lines[first:])]


def describe(path: Path) -> str:
    """The first comment of an option file that is not a Hydra directive: its one line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") and "@package" not in line:
            return line.lstrip("# ").strip()
    return ""
