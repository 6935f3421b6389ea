"""Dual coordinate descent for logistic regression with an L2 penalty, eight outputs at a time.

    minimise over each column of B:   ½ ‖B_k‖² + Σ_i limit_ik · log(1 + exp(-sign_ik · (X B)_ik))

This is liblinear's method (Yu, Huang and Lin, 2011) with its stopping rule. liblinear takes one output after the other.
A pass over sparse documents mostly waits for the coefficients of their columns, and those of eight outputs that lie
side by side come with one access.
"""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tfcr.kernels.compiling import compiled_for_sums
from tfcr.system import native  # noqa: F401 - says where compiled code is cached; before anything is compiled

LANE = 8
MAX_PASSES = 1000
MAX_INNER_STEPS = 100

Matrix = NDArray[np.float64]
Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]
"""Starts, columns and values of CSR rows."""


def descend(X: sp.csr_array, signs: Matrix, limits: Matrix, tolerance: float) -> Matrix:
    """Return the coefficients; (n_columns, n_outputs). X has a column of ones, whose coefficient is the intercept."""
    rows = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data.astype(np.float32))
    lanes = [slice(first, first + LANE) for first in range(0, signs.shape[1], LANE)]
    found = [_descend_lane(rows, X.shape[1], signs[:, lane], limits[:, lane], tolerance) for lane in lanes]
    return np.concatenate(found, axis=1).astype(np.float64)


def _descend_lane(rows: Rows, n_columns: int, signs: Matrix, limits: Matrix, tolerance: float) -> NDArray[np.float32]:
    """Return the coefficients of at most LANE outputs."""
    n_documents, n_outputs = signs.shape
    signs, limits = np.ascontiguousarray(signs), np.ascontiguousarray(limits)
    lengths = np.add.reduceat(rows[2].astype(np.float64) ** 2, rows[0][:-1])  # no row is empty: each has its 1
    # a dual variable, between 0 and its limit, and what it lacks to the limit: each is exact where it is tiny
    below = np.minimum(0.001 * limits, 1e-8)
    above = limits - below
    coefficients = np.zeros((n_columns, LANE), np.float32)
    _add_rows(*rows, signs * below, coefficients)
    random = np.random.default_rng(0)
    finished, precision = np.zeros(n_outputs, np.bool_), np.full(n_outputs, 1e-2)
    for _ in range(MAX_PASSES):
        worst, steps = np.zeros(n_outputs), np.zeros(n_outputs)
        _descend_once(
            *rows, random.permutation(n_documents), lengths, signs, limits, below, above, coefficients,
            finished, precision, worst, steps,
        )  # fmt: skip
        finished |= worst < tolerance
        if finished.all():
            return coefficients[:, :n_outputs]
        precision[steps <= n_documents / 10] *= 0.1
        np.maximum(precision, min(1e-8, tolerance), out=precision)
    warnings.warn(f"logistic regression did not converge in {MAX_PASSES} passes", ConvergenceWarning, stacklevel=2)
    return coefficients[:, :n_outputs]


@compiled_for_sums
def _add_rows(starts: Any, columns: Any, values: Any, times: Any, coefficients: Any) -> None:
    """Add all rows to the coefficients, `times` a number for each output; (n_documents, n_outputs)."""
    for document in range(len(times)):
        for place in range(starts[document], starts[document + 1]):
            for output in range(times.shape[1]):
                coefficients[columns[place], output] += values[place] * times[document, output]


@compiled_for_sums
def _descend_once(
    starts: Any, columns: Any, values: Any, order: Any, lengths: Any, signs: Any, limits: Any, below: Any, above: Any,
    coefficients: Any, finished: Any, precision: Any, worst: Any, steps: Any,
) -> None:  # fmt: skip
    """Move the dual variables of each document once.

    `worst` gets the largest gradient of each output, `steps` the number of its inner Newton steps, which end when the
    gradient of the variable is below `precision`.
    """
    scores, moves = np.zeros(LANE, np.float32), np.zeros(LANE, np.float32)
    for document in order:
        scores[:] = 0
        for place in range(starts[document], starts[document + 1]):
            value, row = values[place], coefficients[columns[place]]
            for output in range(LANE):
                scores[output] += value * row[output]
        moves[:] = 0
        for output in range(signs.shape[1]):
            if finished[output]:
                continue
            sign, limit, length = signs[document, output], limits[document, output], lengths[document]
            one, other = below[document, output], above[document, output]
            slope = sign * scores[output]
            # of the variable and its complement, the one is moved that ends up smaller
            mirrored = 0.5 * length * (other - one) + slope < 0
            if mirrored:
                one, other, slope = other, one, -slope
            moved = one * 0.1 if limit - one < 0.5 * limit else one
            gradient = length * (moved - one) + slope + np.log(moved / (limit - moved))
            worst[output] = max(worst[output], abs(gradient))
            for _ in range(MAX_INNER_STEPS):
                if abs(gradient) < precision[output]:
                    break
                newton = moved - gradient / (length + limit / (limit - moved) / moved)
                moved = moved * 0.1 if newton <= 0 else newton
                gradient = length * (moved - one) + slope + np.log(moved / (limit - moved))
                steps[output] += 1
            moves[output] = sign * (one - moved if mirrored else moved - one)
            below[document, output] = limit - moved if mirrored else moved
            above[document, output] = moved if mirrored else limit - moved
        for place in range(starts[document], starts[document + 1]):
            value, row = values[place], coefficients[columns[place]]
            for output in range(LANE):
                row[output] += value * moves[output]
