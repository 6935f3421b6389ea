"""A fast start for the SVM: dual coordinate descent by compiled code.

At a moderate C it almost converges; at a large C it stalls, and Newton's method takes over. The duality gap, between
the objective and that of the dual problem, bounds the distance to the optimum.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfcr.features.blocks import squared
from tfcr.features.matrix import DenseFeatures, SparseFeatures
from tfcr.system.hardware import n_threads, one_blas_thread
from tfcr.system.native import LANES, SPARSE_KERNELS, descend_once

Matrix = NDArray[np.float32]

EPOCHS = 5
"""Passes over the documents between two computations of the gap."""
WARM_EPOCHS = 2
"""The same if it begins close to the optimum."""
MAX_GAPS = 20
OPERATIONS = 100_000_000
"""Multiplications in one call of compiled code: few enough for Ctrl-C to act soon, enough to be worth a call."""
MIN_THREADED = 1_000_000
"""Multiplications of a pass below which handing it over to threads takes longer than they save."""


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
    if duals is not None:
        descent.rescale()
    gaps = np.ones(signs.shape[1])
    with one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:  # idle BLAS threads would take time from ours
        for _ in range(MAX_GAPS):
            for _ in range(EPOCHS if duals is None else WARM_EPOCHS):
                descent.run_epoch(pool)
            before, gaps = gaps, descent.gaps(pool)
            unfinished = ~(gaps <= tolerance)  # NaN has not converged
            if not unfinished.any() or np.median(gaps[unfinished] / before[unfinished]) > descent.max_ratio:
                break
            descent.reactivate(unfinished)
    return descent.coefficients(), ~unfinished, descent.duals


class _Descent(ABC):
    """The state of the descent; `inverse`, `duals`, `active` and `limits` as in the kernels.

    Attributes
    ----------
    bounds
        The first output of each task, and the one after its last; threads share the tasks.
    documents
        Those that have a weight; the others are never visited.
    max_ratio
        The descent goes on while the gap falls at least to this fraction of the previous one.
    """

    lengths: Matrix
    max_ratio: float

    def __init__(
        self,
        features: DenseFeatures | SparseFeatures,
        signs: Matrix,
        weights: Matrix,
        bounds: list[tuple[int, int]],
        duals: Matrix | None = None,
    ) -> None:
        self.features, self.signs, self.weights, self.bounds = features, signs, weights, bounds
        self.inverse = (0.5 / np.maximum(weights, 1e-20)).astype(np.float32)
        weighted = weights.any(axis=1)
        self.documents = np.flatnonzero(weighted)
        self.duals = np.zeros(signs.shape, np.float32) if duals is None else np.array(duals, np.float32, order="C")
        self.duals[~weighted] = 0
        self.active = np.ones(signs.shape, np.bool_)
        self.limits = np.full(signs.shape[1], np.inf, np.float32)
        self.random = np.random.default_rng(0)

    @abstractmethod
    def move(self, documents: NDArray[np.int64], task: int, worst: Matrix) -> None:
        """Move the dual variables of some documents, for the outputs of one task."""

    @abstractmethod
    def coefficients(self) -> Matrix:
        """Return the coefficients; (n_columns, n_outputs)."""

    @abstractmethod
    def multiply(self, factors: Matrix) -> None:
        """Multiply the coefficients of each output; (n_outputs,)."""

    @abstractmethod
    def scores(self, pool: ThreadPoolExecutor) -> Matrix:
        """Return the scores of the documents; (n_documents, n_outputs)."""

    def rescale(self) -> None:
        """Multiply the dual variables of each output by what is best for this problem: another C asks for other sizes.

        Along that ray the dual objective is t · Σ dual - ½ t² · (‖coefficients‖² + Σ inverse · dual²). With sums of
        duals 6, ‖coefficients‖² = 2 and Σ inverse · dual² = 1, it is largest at t = 6 / 3 = 2.
        """
        coefficients = self.coefficients()
        squares = np.einsum("ij,ij->j", coefficients, coefficients, dtype=np.float64)
        squares += np.einsum("ij,ij,ij->j", self.inverse, self.duals, self.duals, dtype=np.float64)
        sums = self.duals.sum(axis=0, dtype=np.float64)
        factors = np.divide(sums, squares, out=np.ones_like(sums), where=squares > 0).astype(np.float32)
        self.duals *= factors
        self.multiply(factors)

    def run_epoch(self, pool: ThreadPoolExecutor) -> None:
        """Visit all documents once, in random order; each task has some of the outputs."""
        worst = np.zeros(self.signs.shape[1], np.float32)
        order = self.random.permutation(self.documents)
        self.in_pieces(pool, order, lambda documents, task: self.move(documents, task, worst))
        self.limits = np.where(worst > 0, worst, np.inf).astype(np.float32)

    def in_pieces(
        self, pool: ThreadPoolExecutor, order: NDArray[np.int64], work: Callable[[NDArray[np.int64], int], None]
    ) -> None:
        """Call ``work(documents, task)`` for some documents after the others, the tasks on several threads."""
        operations = self.features.size * self.signs.shape[1]
        step = 1 + OPERATIONS * len(self.signs) // operations
        for start in range(0, len(order), step):
            documents = order[start : start + step]
            if operations < MIN_THREADED or len(self.bounds) == 1:
                for task in range(len(self.bounds)):
                    work(documents, task)
                continue
            for future in [pool.submit(work, documents, task) for task in range(len(self.bounds))]:
                future.result()

    def gaps(self, pool: ThreadPoolExecutor) -> NDArray[np.float64]:
        """Return the duality gap of each output, relative to its objective."""
        coefficients = self.coefficients()
        short = np.maximum(0, 1 - self.signs * self.scores(pool))
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
    """`planes` are the coefficients; (n_outputs, n_columns). Each thread has one task."""

    max_ratio = 0.5

    def __init__(self, features: DenseFeatures, signs: Matrix, weights: Matrix, duals: Matrix | None = None) -> None:
        workers = min(n_threads(), signs.shape[1])
        bounds = pairwise(np.linspace(0, signs.shape[1], workers + 1).astype(int).tolist())
        super().__init__(features, signs, weights, list(bounds), duals)
        self.matrix = features.matrix
        self.lengths = np.einsum("ij,ij->i", self.matrix, self.matrix)
        self.planes = np.zeros((signs.shape[1], features.shape[1]), np.float32)
        if self.duals.any():  # the coefficients that belong to them: Σ_i sign_i · dual_i · x_i
            self.planes = np.ascontiguousarray((signs * self.duals).T @ self.matrix)

    def move(self, documents: NDArray[np.int64], task: int, worst: Matrix) -> None:
        descend_once(
            self.matrix, documents, *self.bounds[task], self.signs, self.inverse, self.lengths,
            self.planes, self.duals, self.active, self.limits, worst,
        )  # fmt: skip

    def coefficients(self) -> Matrix:
        return np.ascontiguousarray(self.planes.T)

    def multiply(self, factors: Matrix) -> None:
        self.planes *= factors[:, None]

    def scores(self, pool: ThreadPoolExecutor) -> Matrix:
        return self.features.times(self.coefficients())


class _SparseDescent(_Descent):
    """`lanes` are the coefficients of some outputs each: (n_columns, lane). Newton's steps would cost far more."""

    max_ratio = np.inf

    def __init__(self, features: SparseFeatures, signs: Matrix, weights: Matrix, duals: Matrix | None = None) -> None:
        bounds = lane_bounds(signs.shape[1])
        super().__init__(features, signs, weights, bounds, duals)
        matrix = features.matrix
        self.rows = (
            matrix.indptr.astype(np.int64, copy=False),
            matrix.indices.astype(np.int32, copy=False),
            matrix.data.astype(np.float32, copy=False),
        )
        self.lengths = np.asarray(squared(matrix).sum(axis=1), np.float32)
        widths = [next(lane for lane in LANES if lane >= last - first) for first, last in bounds]
        self.kernels = [SPARSE_KERNELS[width] for width in widths]
        self.lanes = [np.zeros((features.shape[1], width), np.float32) for width in widths]
        for lane, kernels, (first, last) in zip(self.lanes, self.kernels, bounds, strict=True):
            moved = self.duals[:, first:last] * signs[:, first:last]
            begun = np.flatnonzero(moved.any(axis=1))
            times = np.zeros((len(signs), lane.shape[1]), np.float32)
            times[:, : last - first] = moved
            kernels.add_rows(*self.rows, begun, times, lane)

    def move(self, documents: NDArray[np.int64], task: int, worst: Matrix) -> None:
        self.kernels[task].descend_once(
            *self.rows, documents, self.bounds[task][0], self.signs, self.inverse, self.lengths,
            self.lanes[task], self.duals, self.active, self.limits, worst,
        )  # fmt: skip

    def coefficients(self) -> Matrix:
        return self._side_by_side(self.lanes)

    def multiply(self, factors: Matrix) -> None:
        for lane, (first, last) in zip(self.lanes, self.bounds, strict=True):
            lane[:, : last - first] *= factors[first:last]

    def scores(self, pool: ThreadPoolExecutor) -> Matrix:
        found = [np.zeros((len(self.signs), lane.shape[1]), np.float32) for lane in self.lanes]
        self.in_pieces(
            pool,
            self.documents,
            lambda documents, task: self.kernels[task].scores(*self.rows, documents, self.lanes[task], found[task]),
        )
        return self._side_by_side(found)

    def _side_by_side(self, lanes: list[Matrix]) -> Matrix:
        """Return the outputs of all lanes without what fills up the last."""
        return np.concatenate(lanes, axis=1)[:, : self.signs.shape[1]]


def lane_bounds(n_outputs: int) -> list[tuple[int, int]]:
    """Return the first output of each lane, and the one after its last; the last lane may have room for fewer.

    >>> lane_bounds(3), lane_bounds(20)
    ([(0, 3)], [(0, 8), (8, 16), (16, 20)])
    """
    widest = LANES[-1]
    return [(first, min(first + widest, n_outputs)) for first in range(0, n_outputs, widest)]
