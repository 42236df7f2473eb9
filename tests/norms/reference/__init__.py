"""References by name; every file of this folder is read."""

from importlib import import_module
from pkgutil import iter_modules

from tests.norms.reference.case import REFERENCES, Case, expected, reference

for module in iter_modules(__path__, f"{__name__}."):
    import_module(module.name)

__all__ = ["REFERENCES", "Case", "expected", "reference"]
