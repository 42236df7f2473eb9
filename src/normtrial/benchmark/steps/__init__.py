"""Whole training steps, ours and those of what a user would pick instead: `python scripts/benchmark.py step`.

`shape` is what all sides have in common and counts their operations; `bare` is a loop written by hand, which also
trains the model of `xtransformers`; `hugging_face` and `lightning_loop` are loops of others; `ours` is the run as
shipped. `held` takes any loop's steps by turns, `sides` in this process
or in two, `memory` runs a side in a process of its own.
"""
