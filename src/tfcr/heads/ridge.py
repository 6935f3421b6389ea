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


class RidgeHead:
    """Least squares on targets of +1 and -1; C has no meaning here."""

    link = "softmax"

    def __init__(self, C: float = 1.0) -> None:
        del C

    def solve(self, features: NDArray[np.float32], targets: Targets, outputs: Sequence[int]) -> Solution:
        """Fit the outputs at the strength with the least leave-one-out error."""
        roots = np.sqrt(targets.document_weights()).astype(np.float32)[:, None]
        rows = features * roots
        signs = targets.signs(outputs) * roots
        values, directions = np.linalg.eigh((rows.T @ rows).astype(np.float64))
        values = np.maximum(values, 0)
        projected = rows @ directions.astype(np.float32)
        moments = (projected.T @ signs).astype(np.float64)
        # a document of weight 3 stands for three, of which one is left out
        copies = np.maximum(targets.sample_weight, 1)
        strength = min(
            STRENGTHS, key=lambda tried: _left_out_error(projected, signs, values, moments, copies, strength=tried)
        )
        coefficients = directions @ (moments / (values + strength)[:, None])
        return Solution(coefficients[:-1], coefficients[-1])


def _left_out_error(
    projected: NDArray[np.float32],
    signs: NDArray[np.float32],
    values: NDArray[np.float64],
    moments: NDArray[np.float64],
    copies: NDArray[np.float64],
    *,
    strength: float,
) -> float:
    """Return the weighted sum of squared errors at documents left out of the fit."""
    shrunk = 1 / (values + strength)
    leverages = ((projected * projected) @ shrunk.astype(np.float32)) / copies
    errors = signs - projected @ (shrunk[:, None] * moments).astype(np.float32)
    left_out = errors / np.maximum(1 - leverages, 1e-6)[:, None]
    return float(np.einsum("ij,ij->", left_out, left_out, dtype=np.float64))
