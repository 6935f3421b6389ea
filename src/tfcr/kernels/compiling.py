"""How kernels are compiled: without the interpreter's lock, and kept in a cache where there is one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

_cached = False


def use_cache(folder: Path | None) -> None:
    """Keep compiled code in a folder that nobody else can write to; None: compile in every process.

    To be called before a kernel is imported.
    """
    global _cached  # noqa: PLW0603 - numba's own setting is global too
    _cached = folder is not None
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]


def compiled(function: Function) -> Function:
    """Compile a function when it is first called."""
    return cast(Function, numba.njit(cache=_cached, nogil=True)(function))


def compiled_for_sums(function: Function) -> Function:
    """Compile a function whose sums may be added up in any order: several terms at once, last digits may differ."""
    return cast(Function, numba.njit(cache=_cached, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function))
