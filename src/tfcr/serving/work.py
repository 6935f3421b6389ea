"""Scoring on a few threads, so that the event loop can answer others meanwhile."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tfcr.serving.answers import too_late
from tfcr.system.hardware import n_threads

T = TypeVar("T")

SMALL_BODY = 8_000
"""Bytes of a request that is answered at once: that takes less than a millisecond, and handing it to a thread more."""

LARGE_BODY = 100_000
"""Bytes of a request that is worth several threads, if they have nothing else to do."""


class Work:
    """Threads that score, with a limit on the time that an answer may take."""

    def __init__(self, timeout: float, workers: int = 1) -> None:
        self.timeout = timeout
        self.n_threads = max(1, n_threads() // workers)
        self.pool = ThreadPoolExecutor(self.n_threads, "score")
        self.asked = 0

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function on one of the threads; if the time is over before it has begun, it never begins."""
        self.asked += 1
        try:
            async with asyncio.timeout(self.timeout):
                return await asyncio.get_running_loop().run_in_executor(self.pool, function, *arguments)
        except TimeoutError:
            raise too_late() from None
        finally:
            self.asked -= 1

    def threads_for(self, size: int) -> int:
        """Return how many threads a request of so many bytes may take: those that no other request needs."""
        return 1 if size < LARGE_BODY else max(1, self.n_threads // max(1, self.asked))

    def deadline(self) -> float:
        """Return when an answer that begins now is too late, as `time.monotonic` tells the time."""
        return time.monotonic() + self.timeout

    def close(self) -> None:
        """Let the threads end; nothing that was accepted waits for them any longer."""
        self.pool.shutdown(wait=False, cancel_futures=True)
