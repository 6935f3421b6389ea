"""Least squares, its strength picked by leave-one-out in closed form.

With H = X (XᵀX + λ I)⁻¹ Xᵀ, the error at a document left out of the fit is (y - Hy)_i / (1 - H_ii): one
eigendecomposition of the Gram matrix serves all strengths λ and all outputs. Documents carry one weight for all
outputs, so that they share that matrix.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tfcr.heads.base import Solution, Targets

STRENGTHS = np.logspace(-3, 4, 22)
"""The regularisation that is tried, on features whose rows have a mean squared length of 1."""
LOOKED_AT = 20_000
"""Of more documents than this, every second, third, … is left out in turn: enough to pick a strength by."""
ROWS = 4096
"""Documents looked at together, so that no second copy of the features is made."""


class RidgeHead:
    """Least squares on targets of +1 and -1; C has no meaning here."""

    link = "softmax"

    def __init__(self, C: float = 1.0) -> None:
        del C

    def solve(self, features: NDArray[np.float32], targets: Targets, outputs: Sequence[int]) -> Solution:
        """Fit the outputs at the strength with the least leave-one-out error."""
        weights = targets.document_weights().astype(np.float32)[:, None]
        signs = targets.signs(outputs)
        gram = np.zeros((features.shape[1], features.shape[1]))
        for rows in _chunks(len(features)):
            gram += features[rows].T @ (features[rows] * weights[rows])
        values, directions = np.linalg.eigh(gram)
        values = np.maximum(values, 0)
        moments = directions.T @ (features.T @ (signs * weights)).astype(np.float64)
        shrunk = 1 / (values[:, None] + STRENGTHS)
        errors = _left_out_errors(features, signs, targets, directions, shrunk, moments)
        coefficients = directions @ (shrunk[:, [int(np.argmin(errors))]] * moments)
        return Solution(coefficients[:-1], coefficients[-1])


def _left_out_errors(
    features: NDArray[np.float32],
    signs: NDArray[np.float32],
    targets: Targets,
    directions: NDArray[np.float64],
    shrunk: NDArray[np.float64],
    moments: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return, for each strength, the weighted sum of squared errors at documents left out of the fit."""
    weights = targets.document_weights()
    # a document of weight 3 stands for three, of which one is left out
    lone = (weights / np.maximum(targets.sample_weight, 1)).astype(np.float32)
    solutions = (shrunk[:, :, None] * moments[:, None, :]).astype(np.float32)
    n_columns, n_strengths, n_outputs = solutions.shape
    total = np.zeros(n_strengths)
    step = max(1, len(features) // LOOKED_AT)
    features, signs, weights, lone = features[::step], signs[::step], weights[::step], lone[::step]
    for rows in _chunks(len(features)):
        projected = features[rows] @ directions.astype(np.float32)
        fits = (projected @ solutions.reshape(n_columns, -1)).reshape(-1, n_strengths, n_outputs)
        leverages = lone[rows, None] * ((projected * projected) @ shrunk.astype(np.float32))
        left_out = (signs[rows, None, :] - fits) / np.maximum(1 - leverages, 1e-6)[:, :, None]
        total += np.einsum("i,isk,isk->s", weights[rows], left_out, left_out)
    return total


def _chunks(n_documents: int) -> list[slice]:
    return [slice(start, start + ROWS) for start in range(0, n_documents, ROWS)]
