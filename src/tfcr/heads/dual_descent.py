"""A fast start for the SVM: dual coordinate descent by compiled code.

At a moderate C it almost converges; at a large C it stalls, and Newton's method takes over. The duality gap, between
the objective and that of the dual problem, bounds the distance to the optimum.
"""

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import squared
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.system.hardware import n_threads, one_blas_thread
from tfcr.system.native import descend_once, descend_sparse_once

Matrix = NDArray[np.float32]

EPOCHS = 5
"""Passes over the documents between two computations of the gap."""
WARM_EPOCHS = 3
"""The same if it begins close to the optimum."""
MAX_GAPS = 20
OPERATIONS = 100_000_000
"""Multiplications in one call of compiled code: few enough for Ctrl-C to act soon, enough to be worth a call."""


def descend(
    features: DenseFeatures | SparseFeatures,
    signs: Matrix,
    weights: Matrix,
    tolerance: float,
    duals: Matrix | None = None,
) -> tuple[Matrix, NDArray[np.bool_], Matrix]:
    """Minimise, beginning with the dual variables of a similar problem, if known; (n_documents, n_outputs).

    Returns
    -------
    coefficients, finished, duals
        Coefficients (n_columns, n_outputs), which outputs have converged to `tolerance`, and the dual variables.
    """
    descent = (
        _SparseDescent(features, signs, weights, duals)
        if isinstance(features, SparseFeatures)
        else _DenseDescent(features, signs, weights, duals)
    )
    gaps = np.ones(signs.shape[1])
    with one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:  # idle BLAS threads would take time from ours
        for _ in range(MAX_GAPS):
            for _ in range(EPOCHS if duals is None else WARM_EPOCHS):
                descent.run_epoch(pool)
            before, gaps = gaps, descent.gaps()
            unfinished = ~(gaps <= tolerance)  # NaN has not converged
            if not unfinished.any() or np.median(gaps[unfinished] / before[unfinished]) > descent.max_ratio:
                break
            descent.reactivate(unfinished)
    return descent.coefficients(), ~unfinished, descent.duals


class _Descent(ABC):
    """The state of the descent; `inverse`, `duals`, `active` and `limits` as in the kernels.

    Attributes
    ----------
    max_ratio
        The descent goes on while the gap falls at least to this fraction of the previous one.
    outputs_per_thread
        Fewer outputs are not worth a thread.
    """

    lengths: Matrix
    max_ratio: float
    outputs_per_thread: int

    def __init__(
        self, features: DenseFeatures | SparseFeatures, signs: Matrix, weights: Matrix, duals: Matrix | None = None
    ) -> None:
        self.features, self.signs, self.weights = features, signs, weights
        self.inverse = (0.5 / np.maximum(weights, 1e-20)).astype(np.float32)
        self.duals = np.zeros(signs.shape, np.float32) if duals is None else np.array(duals, np.float32, order="C")
        self.active = np.ones(signs.shape, np.bool_)
        self.limits = np.full(signs.shape[1], np.inf, np.float32)
        self.random = np.random.default_rng(0)
        workers = min(n_threads(), -(-signs.shape[1] // self.outputs_per_thread))
        self.bounds = list(pairwise(np.linspace(0, signs.shape[1], workers + 1).astype(int).tolist()))

    @abstractmethod
    def move(self, documents: NDArray[np.int64], part: int, worst: Matrix) -> None:
        """Move the dual variables of some documents, for one part of the outputs."""

    @abstractmethod
    def coefficients(self) -> Matrix:
        """Return the coefficients; (n_columns, n_outputs)."""

    def begin(self) -> Matrix:
        """Return the coefficients that belong to the dual variables: Σ_i sign_i · dual_i · x_i."""
        if not self.duals.any():
            return np.zeros((self.features.shape[1], self.signs.shape[1]), np.float32)
        return self.features.transposed_times(self.signs * self.duals)

    def run_epoch(self, pool: ThreadPoolExecutor) -> None:
        """Visit all documents once, in random order; each thread has some of the outputs."""
        order = self.random.permutation(len(self.signs))
        worst = np.zeros(self.signs.shape[1], np.float32)
        step = 1 + OPERATIONS * len(order) // (self.features.size * self.signs.shape[1])
        for start in range(0, len(order), step):
            documents = order[start : start + step]
            futures = [pool.submit(self.move, documents, part, worst) for part in range(len(self.bounds))]
            for future in futures:
                future.result()
        self.limits = np.where(worst > 0, worst, np.inf).astype(np.float32)

    def gaps(self) -> NDArray[np.float64]:
        """Return the duality gap of each output, relative to its objective."""
        coefficients = self.coefficients()
        short = np.maximum(0, 1 - self.signs * self.features.times(coefficients))
        penalty = 0.5 * np.einsum("ij,ij->j", coefficients, coefficients, dtype=np.float64)
        primal = penalty + np.einsum("ij,ij,ij->j", self.weights, short, short, dtype=np.float64)
        squares = np.einsum("ij,ij,ij->j", self.inverse, self.duals, self.duals, dtype=np.float64)
        dual = self.duals.sum(axis=0, dtype=np.float64) - penalty - 0.5 * squares
        return np.asarray((primal - dual) / np.maximum(primal, 1e-30))

    def reactivate(self, unfinished: NDArray[np.bool_]) -> None:
        """Visit all documents again, for the outputs that have not converged."""
        self.active[:] = unfinished
        self.limits[:] = np.inf


class _DenseDescent(_Descent):
    """`planes` are the coefficients; (n_outputs, n_columns)."""

    max_ratio = 0.5
    outputs_per_thread = 1

    def __init__(self, features: DenseFeatures, signs: Matrix, weights: Matrix, duals: Matrix | None = None) -> None:
        super().__init__(features, signs, weights, duals)
        self.matrix = features.matrix
        self.lengths = np.einsum("ij,ij->i", self.matrix, self.matrix)
        self.planes = np.ascontiguousarray(self.begin().T)

    def move(self, documents: NDArray[np.int64], part: int, worst: Matrix) -> None:
        descend_once(
            self.matrix, documents, *self.bounds[part], self.signs, self.inverse, self.lengths,
            self.planes, self.duals, self.active, self.limits, worst,
        )  # fmt: skip

    def coefficients(self) -> Matrix:
        return np.ascontiguousarray(self.planes.T)


class _SparseDescent(_Descent):
    """`parts` are the coefficients, some outputs each: (n_columns, n_some). Newton's steps would cost far more."""

    max_ratio = np.inf
    outputs_per_thread = 16  # the outputs of a column share a cache line: fewer would take as long

    def __init__(self, features: SparseFeatures, signs: Matrix, weights: Matrix, duals: Matrix | None = None) -> None:
        super().__init__(features, signs, weights, duals)
        matrix = features.matrix
        self.rows = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
        self.lengths = np.asarray(squared(matrix).sum(axis=1), np.float32)
        begin = self.begin()
        self.parts = [np.ascontiguousarray(begin[:, first:last]) for first, last in self.bounds]

    def move(self, documents: NDArray[np.int64], part: int, worst: Matrix) -> None:
        descend_sparse_once(
            *self.rows, documents, self.bounds[part][0], self.signs, self.inverse, self.lengths,
            self.parts[part], self.duals, self.active, self.limits, worst,
        )  # fmt: skip

    def coefficients(self) -> Matrix:
        return np.concatenate(self.parts, axis=1)
