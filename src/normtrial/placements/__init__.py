"""Where the norm stands: one small class a residual wiring, and the catalogue."""
