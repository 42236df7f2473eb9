"""The BatchNorm family: statistics over the examples of a batch, remembered for evaluation."""
