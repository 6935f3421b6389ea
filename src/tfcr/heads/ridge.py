"""Least squares, its regularisation strength picked by leave-one-out in closed form.

With H = X (XᵀX + λ I)⁻¹ Xᵀ, the error at a document left out of the fit is (y - Hy)_i / (1 - H_ii): one
eigendecomposition of the Gram matrix serves all strengths λ and all outputs. Documents carry one weight for all
outputs, so that they share that matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tfcr.features.matrix import Features, Matrix, chunks, gram, in_float64
from tfcr.heads.base import Solution
from tfcr.heads.targets import Targets
from tfcr.system.hardware import interruptible

STRENGTHS = np.logspace(-3, 4, 22)
"""The strengths that are tried, on features with a mean squared row norm of 1."""
MAX_SINGLE = 1e4
"""Largest weight of a document for which float32 products are enough: strengths must not drown in their errors."""
MAX_LEFT_OUT = 20_000
"""Stop after this many left-out documents: enough to pick a strength."""


@dataclass(frozen=True, eq=False)
class RidgeHead:
    """Least squares on targets of +1 and -1; C has no meaning here.

    `left_out` are documents, by their numbers, on some of which the strength is picked; None: all.
    """

    left_out: NDArray[np.int64] | None = None
    has_strength: ClassVar[bool] = False
    takes_sparse: ClassVar[bool] = False  # its Gram matrix has as many rows as there are columns

    def outputs_together(self, features: Features) -> int | None:
        """Return None: the outputs share their work."""
        return None

    def with_tolerance(self, tolerance: float) -> "RidgeHead":
        """Return itself: the solution is exact."""
        return self

    def solve(
        self,
        features: Features,
        targets: Targets,
        outputs: Sequence[int],
        start: Solution | None = None,
        duals: NDArray[np.float32] | None = None,
    ) -> Solution:
        """Fit the outputs at the strength with the least leave-one-out error; `start` is not used."""
        weights: NDArray[Any] = targets.document_weights()
        largest = float(weights.max(initial=0))
        if largest <= MAX_SINGLE:
            weights = weights.astype(np.float32)
        else:
            features = in_float64(features, largest)
        signs = targets.signs(outputs)
        moments = features.transposed_times(signs * weights[:, None]).astype(np.float64)
        rows = np.arange(features.shape[0]) if self.left_out is None else self.left_out
        looked_at = _SomeRows(features, rows), targets.rows(rows)
        coefficients = solve_gram(gram(features, weights, np.float64), moments, *looked_at, outputs)
        return Solution(coefficients[:-1], coefficients[-1], "softmax")


class Rows(Protocol):
    """Features of which rows are looked at."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""


class _SomeRows(NamedTuple):
    """Some rows of features."""

    features: Features
    rows: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.features.shape[1]

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some of them."""
        return self.features.take(self.rows[rows])


def solve_gram(
    products: NDArray[np.float64],
    moments: NDArray[np.float64],
    features: Rows,
    targets: Targets,
    outputs: Sequence[int],
) -> NDArray[np.float64]:
    """Return the coefficients of least squares, (n_columns, n_outputs).

    Parameters
    ----------
    products, moments
        XᵀX and XᵀY over all documents, each times its weight.
    features, targets
        Those of documents that are left out in turn, to pick the strength: all, or a sample of them.
    outputs
        Those that are fitted.
    """
    values, directions = interruptible(np.linalg.eigh, products)
    turned = directions.T @ moments
    shrunk = 1 / (np.maximum(values, 0)[:, None] + STRENGTHS)
    errors = _left_out_errors(features, targets.signs(outputs), targets, directions, shrunk, turned)
    return np.asarray(directions @ (shrunk[:, [int(np.argmin(errors))]] * turned))


def _left_out_errors(
    features: Rows,
    signs: NDArray[np.float32],
    targets: Targets,
    directions: NDArray[np.float64],
    shrunk: NDArray[np.float64],
    moments: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weighted sum of squared leave-one-out errors for each strength."""
    weights = targets.document_weights()
    # a document of weight 3 stands for three, one of which is left out
    lone = (weights / np.maximum(targets.sample_weight, 1)).astype(np.float32)
    solutions = (shrunk[:, :, None] * moments[:, None, :]).astype(np.float32)
    n_columns, n_strengths, n_outputs = solutions.shape  # in the basis of eigenvectors
    total = np.zeros(n_strengths)
    looked_at = np.sort(np.random.default_rng(0).permutation(features.shape[0])[:MAX_LEFT_OUT])
    for chunk in chunks(len(looked_at)):
        rows = looked_at[chunk]
        # fits and leverages of all strengths at once: H_ii = weight · Σ_j projected_ij² / (value_j + strength)
        held = features.take(rows)
        projected = held @ directions.astype(held.dtype)
        fits = (projected @ solutions.reshape(n_columns, -1)).reshape(-1, n_strengths, n_outputs)
        leverages = lone[rows, None] * ((projected * projected) @ shrunk.astype(np.float32))
        left_out = (signs[rows, None, :] - fits) / np.maximum(1 - leverages, 1e-6)[:, :, None]
        total += np.einsum("i,isk,isk->s", weights[rows], left_out, left_out)
    return total
