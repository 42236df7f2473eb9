"""normtrial: which normalization, where, with which eps and affine, for this Transformer on this text?"""

import os

__version__ = "0.1.0"

# Idle OpenMP threads sleep instead of spinning: beside another busy process a two-thread step takes a third of the
# time. It must be set before torch loads its OpenMP, and changes no number.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
