"""The table of arms: one row each, and the formats in which it is written."""
