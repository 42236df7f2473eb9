"""The instrument: loop, evaluation, optimizer, checkpoints, sinks. It never knows which norm it trains."""
