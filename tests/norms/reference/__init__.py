"""What every norm must give, in plain float64 loops; `core` says how, one file a family holds the formulas."""

from tests.norms.reference import adaptive, batch, layer, power, rms
from tests.norms.reference.core import REFERENCES, Case, expected

FAMILIES = (adaptive, batch, layer, power, rms)  # importing them registers their references

__all__ = ["FAMILIES", "REFERENCES", "Case", "expected"]
