"""A quick start for the SVM: dual coordinate descent by compiled code.

At a moderate C it all but finishes; at a large one it stalls, and Newton's method takes over. How far it is from the
optimum is known at any moment, by the gap between the objective and that of the dual problem.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tfcr.compiled import descend_once
from tfcr.machine import n_threads, one_blas_thread

Matrix = NDArray[np.float32]

EPOCHS = 5
"""Passes over the documents between two looks at the gap."""
MAX_LOOKS = 20
WORTHWHILE = 0.5
"""The descent goes on as long as the gap falls to this share from one look to the next."""
DOCUMENTS = 2048
"""Gone through by one call of compiled code: few enough that Ctrl-C need not wait."""


def descend(features: Matrix, signs: Matrix, weights: Matrix, tolerance: float) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return coefficients (n_columns, n_outputs), and which outputs are within `tolerance` of their optimum."""
    descent = _Descent(features, signs, weights)
    gaps = np.ones(signs.shape[1])
    with one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:  # else its idle threads take time from ours
        for _ in range(MAX_LOOKS):
            for _ in range(EPOCHS):
                descent.go_through(pool)
            before, gaps = gaps, descent.gaps()
            unfinished = ~(gaps <= tolerance)  # what is no number is not finished
            if not unfinished.any() or np.median(gaps[unfinished] / before[unfinished]) > WORTHWHILE:
                break
            descent.look_again(unfinished)
    return np.ascontiguousarray(descent.coefficients.T), ~unfinished


@dataclass
class _Descent:
    """The state of the descent; all but `coefficients`, (n_outputs, n_columns), as in the kernel."""

    features: Matrix
    signs: Matrix
    weights: Matrix
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        n_documents, n_outputs = self.signs.shape
        self.inverse = (0.5 / np.maximum(self.weights, 1e-20)).astype(np.float32)
        self.lengths = np.einsum("ij,ij->i", self.features, self.features)
        self.coefficients = np.zeros((n_outputs, self.features.shape[1]), np.float32)
        self.duals = np.zeros((n_documents, n_outputs), np.float32)
        self.active = np.ones((n_documents, n_outputs), np.bool_)
        self.limits = np.full(n_outputs, np.inf, np.float32)

    def go_through(self, pool: ThreadPoolExecutor) -> None:
        """Go through all documents once, in random order; each thread has some of the outputs."""
        order = self.random.permutation(len(self.features))
        worst = np.zeros(len(self.coefficients), np.float32)
        bounds = np.linspace(0, len(self.coefficients), n_threads() + 1).astype(int).tolist()
        for start in range(0, len(order), DOCUMENTS):
            part = order[start : start + DOCUMENTS]
            futures = [
                pool.submit(
                    descend_once, self.features, part, first, last, self.signs, self.inverse, self.lengths,
                    self.coefficients, self.duals, self.active, self.limits, worst,
                )
                for first, last in pairwise(bounds)
            ]  # fmt: skip
            for future in futures:
                future.result()
        self.limits = np.where(worst > 0, worst, np.inf).astype(np.float32)

    def gaps(self) -> NDArray[np.float64]:
        """Return how far each output's objective may be from the optimum, as a share of it."""
        short = np.maximum(0, 1 - self.signs * (self.features @ self.coefficients.T))
        penalty = 0.5 * np.einsum("ij,ij->i", self.coefficients, self.coefficients, dtype=np.float64)
        primal = penalty + np.einsum("ij,ij,ij->j", self.weights, short, short, dtype=np.float64)
        squares = np.einsum("ij,ij,ij->j", self.inverse, self.duals, self.duals, dtype=np.float64)
        dual = self.duals.sum(axis=0, dtype=np.float64) - penalty - 0.5 * squares
        return np.asarray((primal - dual) / np.maximum(primal, 1e-30))

    def look_again(self, unfinished: NDArray[np.bool_]) -> None:
        """Look at all documents again, for the outputs that are not finished."""
        self.active[:] = unfinished
        self.limits[:] = np.inf
