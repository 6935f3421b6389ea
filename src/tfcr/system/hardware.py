"""The processors and memory available to this process, and running work on several threads."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

from tfcr.errors import InputError

T = TypeVar("T")

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+)\s*([KMGT]?)B?\s*", re.IGNORECASE)
_CONTAINER_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))

_MMAP_THRESHOLD = -3
"""The number of this option in malloc.h."""
LARGE_ARRAY = 1 << 22
"""Bytes from which on an array may have memory of its own."""
UNKNOWN_MEMORY = 8 * 10**9
"""Assumed if the system does not report its memory."""


def n_threads() -> int:
    """Return the number of threads to use: TFCR_THREADS, or the number of processors."""
    given = os.environ.get("TFCR_THREADS", "")
    return max(1, int(given)) if given.isdecimal() else n_processors()


def n_processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run matrix products on the calling thread only, while our own threads divide the work.

    The setting applies to the whole process: the first to enter sets it, the last to leave restores it.
    """
    _blas_limit.enter()
    try:
        yield
    finally:
        _blas_limit.leave()


class _BlasLimit:
    def __init__(self) -> None:
        self.lock = Lock()
        self.users = 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if not self.users:
                self.limiter = _blas_libraries().limit(limits=1, user_api="blas")
            self.users += 1

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if not self.users:
                self.limiter.restore_original_limits()


@cache
def _blas_libraries() -> Any:
    """Return the controller of the loaded BLAS libraries; finding them takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - small jobs do not need it

    return ThreadpoolController()


_blas_limit = _BlasLimit()


def in_parallel(function: Callable[..., T], items: Iterable[Any], threads: int | None = None) -> list[T]:
    """Call a function for each item on several threads, or on this one if 1 is asked for; return results in order."""
    if threads == 1:
        with one_blas_thread():
            return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(threads or n_threads()) as pool:
        futures = [pool.submit(function, item) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def interruptible(function: Callable[..., T], *arguments: Any) -> T:
    """Call a long-running compiled function on another thread, so that Ctrl-C does not wait for it."""
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(function(*arguments))
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=work, daemon=True)  # a daemon does not keep the program alive
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def return_memory() -> None:
    """Give freed memory back to the system; by itself, glibc keeps pieces of it, often hundreds of megabytes."""
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)


def map_large_arrays() -> None:
    """Let every large array of this process have memory of its own from now on, which goes back when it is freed.

    By itself, glibc soon takes arrays of up to 32 MB from a common heap, where those that stay keep what others have
    freed. Training `paper` on a million documents with 2 GB took 1.50 and 1.83 GB at its peak without this, and 1.31
    with it, but a quarter more CPU time: the system has to clear what it hands out.
    """
    set_option = _of_glibc("mallopt")
    if set_option is not None:
        set_option(_MMAP_THRESHOLD, LARGE_ARRAY)


@cache
def _of_glibc(name: str) -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - most programs need none of this

    return getattr(ctypes.CDLL(None), name, None)  # other libraries than glibc have none


def memory_limit(given: float | str | None = None) -> int:
    """Return a limit in bytes, from a number or a size such as ``"4GB"``; None: half of the machine's memory."""
    return _memory() // 2 if given is None else size_in_bytes(given, "max_memory=")


def size_in_bytes(given: float | str, name: str, example: str = "4GB") -> int:
    """Return a number of bytes, from a number or a size such as ``"4GB"``; the error shows the name and an example.

    >>> size_in_bytes("1.5 MB", "--max-body ")
    1500000
    """
    found = _SIZE.fullmatch(given) if isinstance(given, str) else None
    size = float(found[1]) * _UNITS[found[2].upper()] if found else given
    if isinstance(size, str) or not size > 0:
        raise InputError(f"found {name}{given!r}; expected a number of bytes or a size such as {example!r}")
    return int(min(size, 2**62))


def check_fits(needed: float, what: str, advice: str) -> None:
    """Raise InputError for arrays that this machine cannot hold, before they are made."""
    if needed > memory_limit():
        raise InputError(
            f"found {what}, which need {needed / 1e9:,.1f} GB; expected at most {memory_limit() / 1e9:,.1f} GB, half "
            f"of this machine's memory: {advice}"
        )


def _memory() -> int:
    """Return the memory of the machine, or the container's limit if that is less."""
    sizes = [UNKNOWN_MEMORY]
    with suppress(ValueError, OSError, AttributeError):
        sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for path in _CONTAINER_LIMITS:
        with suppress(ValueError, OSError):  # absent, or "max"
            sizes.append(int(path.read_text()))
    return min(sizes)
