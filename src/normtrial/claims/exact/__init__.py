"""Claims about formulas: checks by theme, each settled in seconds against a float64 reference."""

from normtrial.claims.exact import batch, forms, gradients, network, padding, precision, tokens
from normtrial.claims.exact.kit import MEASURES

__all__ = ["MEASURES", "batch", "forms", "gradients", "network", "padding", "precision", "tokens"]
