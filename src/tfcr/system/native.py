"""The door to compiled code: where it is cached, and how its work is shared among threads.

Importing this imports numba, which takes longer than a small job: its callers do so only when the job is large.
"""

import logging
from collections.abc import Callable

from tfcr.kernels import compiling
from tfcr.system.files import kernel_cache
from tfcr.system.hardware import in_parallel, n_threads

_cache = kernel_cache()
compiling.use_cache(_cache)  # before any kernel is imported
compiling.tell_compiling(
    lambda: logging.getLogger("tfcr").warning(
        "compiling fast code, which takes some seconds, %s",
        "and only the first time" if _cache else "each time, since the cache folder cannot be written",
    )
)

from tfcr.kernels.averages import average_vectors  # noqa: E402
from tfcr.kernels.descent import descend_once, descend_sparse_once  # noqa: E402
from tfcr.kernels.rows import last_row_end  # noqa: E402
from tfcr.kernels.scores import score_documents  # noqa: E402
from tfcr.kernels.tokens import SEEN, count_documents, fill_bigram_slots, fill_slots, merge_terms  # noqa: E402

__all__ = [
    "SEEN",
    "average_vectors",
    "count_documents",
    "descend_once",
    "descend_sparse_once",
    "fill_bigram_slots",
    "fill_slots",
    "in_threads",
    "last_row_end",
    "merge_terms",
    "score_documents",
]

CHUNKS = 16
"""Pieces of work for each thread: short ones, so that Ctrl-C need not wait and no thread is left with the rest."""


def in_threads(work: Callable[[int, int], None], size: int, threads: int | None = None) -> None:
    """Call ``work(first, last)`` for all of ``range(size)`` in pieces, on several threads."""
    workers = threads or n_threads()
    step = max(1, -(-size // (workers * CHUNKS)))
    in_parallel(lambda first: work(first, min(first + step, size)), range(0, size, step), workers)
