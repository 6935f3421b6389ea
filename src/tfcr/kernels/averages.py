"""Weighted averages of word vectors: one small matrix product per document.

A document of the words good × 2 and film × 1, with G = 2 blocks and d = 2 dimensions:

    count · weight · factor            vectors            product, (G, d)
    good   2 · (.5, .1)                good (1, 0)        block 0: (1., .3)
    film   1 · (.3, .4)                film (0, 1)        block 1: (.2, .4)
"""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled


@compiled
def average_vectors(
    first: int,
    last: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    counts: NDArray[np.float32],
    weights: NDArray[np.float32],
    vectors: NDArray[np.float32],
    factors: NDArray[np.float32],
    averages: NDArray[np.float32],
) -> None:
    """Write the averages of documents `first` to `last`, the blocks side by side.

    The rows of a document's words are gathered first; words without a vector are left out.

    Parameters
    ----------
    first, last
        The range of documents.
    indptr, indices, counts
        The counts of all documents, as CSR.
    weights
        (n_words, G).
    vectors
        (n_words, d).
    factors
        What each sum is multiplied by; (n_documents, G).
    averages
        The result, (n_documents, G · d).
    """
    longest = 1
    for document in range(first, last):
        longest = max(longest, indptr[document + 1] - indptr[document])
    n_blocks, dimensions = weights.shape[1], vectors.shape[1]
    some_weights = np.empty((longest, n_blocks), np.float32)
    some_vectors = np.empty((longest, dimensions), np.float32)
    for document in range(first, last):
        size = 0
        for place in range(indptr[document], indptr[document + 1]):
            word, count = indices[place], counts[place]
            nonzero = False
            for dimension in range(dimensions):
                value = vectors[word, dimension]
                some_vectors[size, dimension] = value
                nonzero |= value != 0
            if nonzero:  # else the word has no vector
                for block in range(n_blocks):
                    some_weights[size, block] = count * weights[word, block] * factors[document, block]
                size += 1
        product = np.dot(some_weights[:size].T, some_vectors[:size])
        for block in range(n_blocks):
            for dimension in range(dimensions):
                averages[document, block * dimensions + dimension] = product[block, dimension]
