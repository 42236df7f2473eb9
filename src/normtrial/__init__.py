"""normtrial: which normalization, where, with which eps and affine, for this Transformer on this text?"""

__version__ = "0.1.0"
