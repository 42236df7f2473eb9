"""Where text comes from: one small module a set or a format, each set a line in the catalogue.

`source.py` has the protocol and the rules of splitting, `packages.py` reads text that ships inside packages.
"""
