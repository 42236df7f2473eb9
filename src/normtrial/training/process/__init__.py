"""What belongs to the process: checkpoints, signals, random generators, memory, time."""
