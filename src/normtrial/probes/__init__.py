"""Readers of a running model, through hooks: what a catalogue of probes measures, and non-finite values."""
