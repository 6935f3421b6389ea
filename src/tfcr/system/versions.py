"""Which versions produced a model or a result."""

import platform
from importlib.metadata import version

RECORDED = ("tfcr", "numpy", "scipy", "scikit-learn", "gensim", "numba")
"""Packages that results may depend on."""


def recorded_versions() -> dict[str, str]:
    """Return the version of Python and of each recorded package."""
    return {"python": platform.python_version(), **{name: version(name) for name in RECORDED}}
