"""Sweeps: grids and arms -> distinct runs without a result -> any Hydra launcher -> a comparison.

`python train.py -m …` comes here through `hydra_plugins.normtrial_sweeper`; code calls `run_arms`.
"""

from normtrial.sweep.arms import run_arms
from normtrial.sweep.conclude import conclude
from normtrial.sweep.entry import Entry
from normtrial.sweep.launch import Launching, carry_out
from normtrial.sweep.plan import by_other_code, distinct, in_short, plan, print_plan

__all__ = [
    "Entry",
    "Launching",
    "by_other_code",
    "carry_out",
    "conclude",
    "distinct",
    "in_short",
    "plan",
    "print_plan",
    "run_arms",
]
