"""A model looked at with a split: plain, shifted, and with which statistics."""
