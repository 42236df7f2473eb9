"""Where a run's numbers go: its folder first, then the terminal and W&B."""
