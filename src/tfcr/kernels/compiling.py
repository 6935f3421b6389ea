"""How kernels are compiled: without the global interpreter lock, and cached if there is a folder for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import event
from numba.np import linalg

Function = TypeVar("Function", bound=Callable[..., Any])

_cached = False


def _load_without_blas() -> None:
    """Load numba's arrays without scipy.linalg, which takes as long as all the rest of numba.

    numba imports it only to see whether it is there; a kernel that multiplies matrices still asks for it.
    """
    ensure_blas = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath  # noqa: PLC0415 - asks when it is loaded
    finally:
        linalg.ensure_blas = ensure_blas
    arraymath.ensure_blas = ensure_blas  # type: ignore[attr-defined]


_load_without_blas()


def use_cache(folder: Path | None) -> None:
    """Cache compiled code in a folder that nobody else can write to; None: compile in every process.

    Call it before a kernel is imported.
    """
    global _cached  # noqa: PLW0603 - numba's own setting is global too
    _cached = folder is not None
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]


def tell_compiling(tell: Callable[[], None]) -> None:
    """Call a function when a kernel is compiled for the first time, rather than loaded from the cache."""
    event.register("numba:compile", _Listener(tell))  # type: ignore[no-untyped-call]


class _Listener(event.Listener):
    def __init__(self, tell: Callable[[], None]) -> None:
        self.tell: Callable[[], None] | None = tell

    def on_start(self, event: Any) -> None:
        ours = event.data["dispatcher"].py_func.__module__.startswith("tfcr.")
        if ours and self.tell is not None:
            self.tell()
            self.tell = None

    def on_end(self, event: Any) -> None:
        pass


def compiled(function: Function) -> Function:
    """Compile a function when it is first called."""
    return cast(Function, numba.njit(cache=_cached, nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile a function into its callers: passing arrays costs more than a short function does."""
    return cast(Function, numba.njit(nogil=True, inline="always")(function))


def compiled_for_sums(function: Function) -> Function:
    """Compile a function whose sums may be reordered, several terms at once; last digits may differ."""
    return cast(Function, numba.njit(cache=_cached, nogil=True, fastmath={"reassoc", "contract", "nsz"})(function))
