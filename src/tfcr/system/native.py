"""The only way to compiled code: sets where it is cached, then imports the kernels; runs them on several threads.

Importing this module imports numba, which takes longer than a small job; callers import it only for large jobs.
"""

import logging

from tfcr.kernels import compiling
from tfcr.system.files import kernel_cache
from tfcr.system.hardware import in_parallel, n_threads
from tfcr.system.progress import Progress

_cache = kernel_cache()
compiling.use_cache(_cache)  # must come before the first kernel is imported
compiling.tell_compiling(
    lambda: logging.getLogger("tfcr").warning(
        "compiling fast code, which takes some seconds, %s",
        "and only the first time" if _cache else "each time, since the cache folder cannot be written",
    )
)

from tfcr.kernels.averages import average_vectors  # noqa: E402
from tfcr.kernels.descent import (  # noqa: E402
    LANES,
    SPARSE_KERNELS,
    descend_once,
)
from tfcr.kernels.pieces import MAX_PIECES, cut_some, hash_ngrams  # noqa: E402
from tfcr.kernels.preparing import prepare_documents  # noqa: E402
from tfcr.kernels.products import add_times, add_transposed_times  # noqa: E402
from tfcr.kernels.rows import last_row_end  # noqa: E402
from tfcr.kernels.scores import add_pieces, score_documents  # noqa: E402
from tfcr.kernels.tokens import (  # noqa: E402
    SEEN,
    count_documents,
    fill_slots,
    find_symbols,
    merge_terms,
)

__all__ = [
    "LANES",
    "MAX_PIECES",
    "SEEN",
    "SPARSE_KERNELS",
    "add_pieces",
    "add_times",
    "add_transposed_times",
    "average_vectors",
    "count_documents",
    "cut_some",
    "descend_once",
    "fill_slots",
    "find_symbols",
    "hash_ngrams",
    "in_threads",
    "last_row_end",
    "merge_terms",
    "prepare_documents",
    "score_documents",
]

CHUNKS = 16
"""Pieces of work per thread: small, so that Ctrl-C takes effect soon and threads finish at about the same time."""


def in_threads(work: Progress, size: int, threads: int | None = None) -> None:
    """Call ``work(first, last)`` on several threads, for consecutive pieces of ``range(size)``.

    With 2 threads and size 100 there are 25 pieces of 4 items: ``work(0, 4)``, ``work(4, 8)``, …, ``work(96, 100)``.
    """
    workers = threads or n_threads()
    step = max(1, -(-size // (workers * CHUNKS)))
    in_parallel(lambda first: work(first, min(first + step, size)), range(0, size, step), workers)
