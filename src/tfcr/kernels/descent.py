"""Dual coordinate descent for the SVM with squared hinge loss (Hsieh et al. 2008), all outputs over one pass.

Dense rows are long: the coefficients of one output lie together. Sparse rows are short and touch scattered columns: the
coefficients of one column lie together, for a lane of outputs.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tfcr.kernels.compiling import compiled_for_sums, inlined

LANES = (4, 8)
"""Outputs whose coefficients the processor moves at once: one vector of four, or one of eight."""


@inlined
def best_dual(
    margin: np.float32, dual: np.float32, inverse: np.float32, length: np.float32, limit: np.float32
) -> tuple[np.float32, np.float32]:
    """Return the violation of a dual variable's optimality condition, and its optimal value with all others fixed.

    The violation is -1 for a variable at 0 whose gradient exceeds `limit`: it is likely to stay there, and is skipped.
    With margin .5, dual 0, inverse 1 and length 1, the gradient is -.5: the violation is .5 and the new value .25.
    """
    gradient = margin - np.float32(1) + dual * inverse
    if dual == 0 and gradient >= 0:
        return np.float32(-1 if gradient > limit else 0), dual
    return abs(gradient), max(dual - gradient / (length + inverse), np.float32(0))


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
    """Optimise the dual variables of some documents one at a time, for outputs `first` to `last`.

    A document's row is read once for all outputs, whose coefficients stay in the processor's cache.

    Parameters
    ----------
    features
        (n_documents, n_columns).
    order
        The documents to visit, in this order.
    signs, inverse
        +1 or -1, and 1 / (2 · C · weight); (n_documents, n_outputs).
    lengths
        The squared length of each row; (n_documents,).
    coefficients
        (n_outputs, n_columns); changed.
    duals, active
        The dual variables, and which of them are still visited; (n_documents, n_outputs); changed.
    limits
        A dual variable at 0 whose gradient exceeds this is skipped from now on; (n_outputs,).
    worst
        The largest violation so far; (n_outputs,); changed.
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
            violation, moved = best_dual(
                sign * score, dual, inverse[document, output], lengths[document], limits[output]
            )
            active[document, output] = violation >= 0
            worst[output] = max(worst[output], violation)
            if moved != dual:
                change = (moved - dual) * sign
                for column in range(n_columns):
                    plane[column] += change * row[column]
                duals[document, output] = moved


class SparseKernels(NamedTuple):
    """The passes over sparse features, for a lane of so many outputs."""

    descend_once: Callable[..., None]
    scores: Callable[..., None]
    add_rows: Callable[..., None]


def _sparse_kernels(lane: int) -> SparseKernels:
    """Return the passes for a lane: a loop over as many outputs as there happen to be takes twice as long."""

    @compiled_for_sums
    def descend_sparse_once(
        starts: NDArray[np.int64],
        columns: NDArray[np.int32],
        values: NDArray[np.float32],
        order: NDArray[np.int64],
        first: int,
        signs: NDArray[np.float32],
        inverse: NDArray[np.float32],
        lengths: NDArray[np.float32],
        coefficients: NDArray[np.float32],
        duals: NDArray[np.float32],
        active: NDArray[np.bool_],
        limits: NDArray[np.float32],
        worst: NDArray[np.float32],
    ) -> None:
        """Do the same for sparse features, for the outputs from `first` on, at most as many as a lane has.

        Parameters
        ----------
        starts, columns, values
            The features of all documents, as CSR.
        coefficients
            (n_columns, lane); changed. Each lane has its own: threads would slow each other down on the same column.
        order, first, signs, inverse, lengths, duals, active, limits, worst
            As in `descend_once`.
        """
        n_some = min(lane, signs.shape[1] - first)
        scores = np.empty(lane, np.float32)
        changes = np.zeros(lane, np.float32)
        for document in order:
            if not active[document, first : first + n_some].any():
                continue
            scores[:] = 0
            for place in range(starts[document], starts[document + 1]):
                value, row = values[place], coefficients[columns[place]]
                for output in range(lane):
                    scores[output] += value * row[output]
            changed = False
            for number in range(n_some):
                changes[number] = 0
                output = first + number
                if not active[document, output]:
                    continue
                sign, dual = signs[document, output], duals[document, output]
                violation, moved = best_dual(
                    sign * scores[number], dual, inverse[document, output], lengths[document], limits[output]
                )
                active[document, output] = violation >= 0
                worst[output] = max(worst[output], violation)
                changes[number] = (moved - dual) * sign
                changed = changed or moved != dual
                duals[document, output] = moved
            if changed:
                for place in range(starts[document], starts[document + 1]):
                    value, row = values[place], coefficients[columns[place]]
                    for output in range(lane):
                        row[output] += value * changes[output]

    @compiled_for_sums
    def sparse_scores(
        starts: NDArray[np.int64],
        columns: NDArray[np.int32],
        values: NDArray[np.float32],
        documents: NDArray[np.int64],
        coefficients: NDArray[np.float32],
        scores: NDArray[np.float32],
    ) -> None:
        """Write the scores of some documents with the coefficients of a lane; (n_all_documents, lane)."""
        for document in documents:
            scores[document] = 0
            for place in range(starts[document], starts[document + 1]):
                value, row = values[place], coefficients[columns[place]]
                for output in range(lane):
                    scores[document, output] += value * row[output]

    @compiled_for_sums
    def add_sparse_rows(
        starts: NDArray[np.int64],
        columns: NDArray[np.int32],
        values: NDArray[np.float32],
        documents: NDArray[np.int64],
        times: NDArray[np.float32],
        coefficients: NDArray[np.float32],
    ) -> None:
        """Add the rows of some documents to the coefficients of a lane, `times` a number; (n_all_documents, lane)."""
        for document in documents:
            for place in range(starts[document], starts[document + 1]):
                value, row = values[place], coefficients[columns[place]]
                for output in range(lane):
                    row[output] += value * times[document, output]

    return SparseKernels(descend_sparse_once, sparse_scores, add_sparse_rows)


SPARSE_KERNELS = {lane: _sparse_kernels(lane) for lane in LANES}
"""From the outputs of a lane to its passes."""
