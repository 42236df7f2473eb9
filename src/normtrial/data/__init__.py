"""Real text as batches of tokens: sources, preparation once a machine, batches as pure functions of the step.

`catalogue.load(config, cache)` returns a `dataset.TextData`. To add a set: one file in `sources/`, one line
in `catalogue.SOURCES`, one YAML in `conf/data/`; for a set of the Hub, the YAML alone. Text that a user brings is
read by `sources/given/`; kinds of vocabulary are in `tokenizer/`.
"""
