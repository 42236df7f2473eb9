"""Claims about time and memory."""

MEASURES = {}
