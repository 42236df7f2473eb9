"""Readers of forward passes: the stream, sizes, what goes into norms, attention."""
