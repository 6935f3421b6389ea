"""Dual coordinate descent for the SVM with squared hinge loss (Hsieh et al. 2008), all outputs over one pass."""

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled_for_sums


@compiled_for_sums
def descend_once(
    features: NDArray[np.float32],
    order: NDArray[np.int64],
    first: int,
    last: int,
    signs: NDArray[np.float32],
    inverse: NDArray[np.float32],
    lengths: NDArray[np.float32],
    coefficients: NDArray[np.float32],
    duals: NDArray[np.float32],
    active: NDArray[np.bool_],
    limits: NDArray[np.float32],
    worst: NDArray[np.float32],
) -> None:
    """Move the dual variables of some documents, for outputs `first` to `last`, to where each is best by itself.

    A document's row is read once for all outputs, whose coefficients stay in the processor's cache.

    Parameters
    ----------
    features
        (n_documents, n_columns).
    order
        The documents to go through, in this order.
    signs, inverse
        +1 or -1, and 1 / (2 · C · weight); (n_documents, n_outputs).
    lengths
        The squared length of each row; (n_documents,).
    coefficients
        (n_outputs, n_columns); changed.
    duals, active
        The dual variables, and which of them are still looked at; (n_documents, n_outputs); changed.
    limits
        A dual variable at 0 whose gradient exceeds this is passed over from now on; (n_outputs,).
    worst
        The largest violation met so far; (n_outputs,); changed.
    """
    n_columns = features.shape[1]
    for document in order:
        row = features[document]
        for output in range(first, last):
            if not active[document, output]:
                continue
            plane = coefficients[output]
            score = np.float32(0)
            for column in range(n_columns):
                score += plane[column] * row[column]
            sign, dual = signs[document, output], duals[document, output]
            gradient = sign * score - np.float32(1) + dual * inverse[document, output]
            if dual == 0:
                if gradient > limits[output]:
                    active[document, output] = False
                    continue
                if gradient >= 0:
                    continue
            worst[output] = max(worst[output], abs(gradient))
            moved = max(dual - gradient / (lengths[document] + inverse[document, output]), np.float32(0))
            if moved != dual:
                change = (moved - dual) * sign
                for column in range(n_columns):
                    plane[column] += change * row[column]
                duals[document, output] = moved
