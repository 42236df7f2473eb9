"""W&B beside a run: a saved workspace for its project, and local runs mirrored afterwards."""
