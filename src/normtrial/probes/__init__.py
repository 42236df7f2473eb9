"""Readers of a running model, through hooks: gradients, non-finite values."""
