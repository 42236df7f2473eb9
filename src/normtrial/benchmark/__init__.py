"""What things cost, always as ratios of paired times: `python scripts/benchmark.py`.

A command is a module with `add_arguments(parser)` and `run(given) -> Results`, and a line in scripts/benchmark.py.
`command` has what they share on the command line, `pairs` takes times, `machine` says how fast the machine is,
`results` prints, keeps and draws.
"""
