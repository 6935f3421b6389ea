"""Modules that are imported when they are first used.

Prediction takes milliseconds and needs neither scipy nor compiled code; importing scipy takes a fifth of a second.
Where a module needs it for training only::

    if TYPE_CHECKING:
        import scipy.sparse as sp
    else:
        sp = lazy_module("scipy.sparse")

Such a module postpones its annotations (``from __future__ import annotations``), or they would import it at once.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands for a module, and imports it at the first look at one of its names."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self.__name__), name)
        setattr(self, name, found)  # the next look does not come here
        return found


def lazy_module(name: str) -> Any:
    """Return what stands for a module until one of its names is needed.

    Examples
    --------
    >>> lazy_module("string").digits
    '0123456789'
    """
    return _LazyModule(name)


@cache
def native_is_available() -> bool:
    """Return whether compiled code can be loaded; models predict without numba too, by numpy."""
    return find_spec("numba") is not None
