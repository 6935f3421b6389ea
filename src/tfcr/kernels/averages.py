"""Weighted sums of word vectors: for each document, the words' weights (G columns) times their vectors (d columns)."""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled


@compiled
def add_up_vectors(
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
    weights: NDArray[np.float32],
    vectors: NDArray[np.float32],
    sums: NDArray[np.float32],
) -> None:
    """Write the sums of documents `first` to `last`, the blocks side by side.

    A document's rows are gathered first, so that the rest is one small matrix product.

    Parameters
    ----------
    first, last
        The documents to do.
    indptr, indices, counts
        The counts of all documents, as CSR.
    weights
        (n_words, G).
    vectors
        (n_words, d).
    sums
        The result, (n_documents, G · d).
    """
    longest = 1
    for document in range(first, last):
        longest = max(longest, indptr[document + 1] - indptr[document])
    n_blocks, dimensions = weights.shape[1], vectors.shape[1]
    some_weights = np.empty((longest, n_blocks), np.float32)
    some_vectors = np.empty((longest, dimensions), np.float32)
    for document in range(first, last):
        start, size = indptr[document], indptr[document + 1] - indptr[document]
        for row in range(size):
            word, count = indices[start + row], counts[start + row]
            for block in range(n_blocks):
                some_weights[row, block] = count * weights[word, block]
            for dimension in range(dimensions):
                some_vectors[row, dimension] = vectors[word, dimension]
        product = np.dot(some_weights[:size].T, some_vectors[:size])
        for block in range(n_blocks):
            for dimension in range(dimensions):
                sums[document, block * dimensions + dimension] = product[block, dimension]
