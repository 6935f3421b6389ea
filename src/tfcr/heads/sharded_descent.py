"""The fast start for the SVM on shards: dual coordinate descent, one shard after the other.

Each visit to a shard moves the dual variables of its documents, given the coefficients that all others have made (the
block minimisation of Yu et al., 2012). An epoch visits all shards once, in random order; the coefficients stay in
memory, features and dual variables on disk. A shard's coefficients are gathered for its own columns, so that those of
common columns stay in the processor's cache, and are put back afterwards.

Close to the optimum it stalls, since the coefficients lean towards the shard that was visited last: Newton's method
finds the rest. It goes from one shard to the next: on a cluster, Newton's method alone is faster, whose sums are made
everywhere at once.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.matrix import Matrix, is_sparse, times
from tfcr.features.pieces import Layout
from tfcr.heads.dual_descent import EPOCHS, MAX_GAPS, lane_bounds
from tfcr.heads.targets import Targets
from tfcr.system.array_codec import Arrays
from tfcr.system.hardware import n_threads, one_blas_thread
from tfcr.system.native import LANES, SPARSE_KERNELS
from tfcr.system.places import ByPiece, Kept, LocalPlaces
from tfcr.text.shards import Piece, ShardedDocuments

MAX_RATIO = 0.5
"""It goes on while the gap falls at least to this fraction of the previous one."""


def can_descend(documents: ShardedDocuments, layout: Layout) -> bool:
    """Return whether features are sparse, and lie on this machine."""
    return isinstance(documents.places, LocalPlaces) and all(map(is_sparse, layout.blocks))


def descend_shards(
    documents: ShardedDocuments,
    layout: Layout,
    targets: Sequence[Targets],
    C: float,
    tolerance: float,
    tell: Callable[[float], None] = lambda done: None,
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Minimise from zero.

    Parameters
    ----------
    documents, layout
        The documents, and what their features are.
    targets
        Those of the documents of each piece.
    C
        The inverse regularisation strength.
    tolerance
        The duality gap, relative to the objective, at which an output has converged.
    tell
        Called after each computation of the gap with about how much of the way to the optimum is done.

    Returns
    -------
    coefficients, finished
        Coefficients of scaled features, (n_columns, n_outputs), and which outputs have converged.
    """
    places = documents.places
    if not isinstance(places, LocalPlaces):
        raise TypeError(f"found shards in {type(places).__name__}; expected them on this machine")
    features = documents.transform(_explicit, layout)
    states = places.transform(_begin, features, layout.shape[1])
    try:
        descent = _ShardedDescent(places, features, states, targets, C, layout.shape)
        return descent.run(tolerance, tell)
    finally:
        places.drop(features, states)


def _explicit(piece: Piece, layout: Layout) -> Arrays:
    """Return the scaled features of a piece as CSR, with a column of ones, and the number of each of its columns.

    Columns of all blocks stand side by side; those that no document of the piece has are left out.
    """
    columns, blocks = layout.sparse_features(piece)
    scale = np.float32(layout.scales[0])
    ones = np.full((len(piece), 1), scale, np.float32)  # divided by the scale, as all columns are
    matrix: sp.csr_array = sp.csr_array(sp.hstack([*blocks, sp.csr_array(ones)], "csr", np.float32))
    used = np.bincount(matrix.indices, minlength=matrix.shape[1])
    order = np.argsort(-used, kind="stable")[
        : np.count_nonzero(used)
    ]  # common columns first, so that they lie together
    numbers = np.zeros(matrix.shape[1], np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return {
        "starts": matrix.indptr.astype(np.int64),
        "terms": numbers[matrix.indices],
        "values": matrix.data / scale,
        "columns": columns[order],
    }


def _begin(features: Arrays, n_outputs: int) -> Arrays:
    """Return dual variables of 0, all of them to be visited."""
    shape = len(features["starts"]) - 1, n_outputs
    return {"duals": np.zeros(shape, np.float32), "active": np.ones(shape, np.bool_)}


class _ShardedDescent:
    """The state of the descent: `lanes` are the coefficients of some outputs each; (n_columns, lane)."""

    def __init__(
        self,
        places: LocalPlaces,
        features: Kept,
        states: Kept,
        targets: Sequence[Targets],
        C: float,
        shape: tuple[int, int],
    ) -> None:
        self.places, self.features, self.states, self.targets, self.C = places, features, states, targets, C
        self.n_outputs = shape[1]
        self.bounds = lane_bounds(shape[1])
        widths = [next(lane for lane in LANES if lane >= last - first) for first, last in self.bounds]
        self.kernels = [SPARSE_KERNELS[width] for width in widths]
        self.lanes = [np.zeros((shape[0], width), np.float32) for width in widths]
        self.limits = np.full(shape[1], np.inf, np.float32)
        self.random = np.random.default_rng(0)

    def run(self, tolerance: float, tell: Callable[[float], None]) -> tuple[Matrix, NDArray[np.bool_]]:
        """Descend until the gap of every output is small, or does not fall fast any more."""
        unfinished, gaps = np.ones(self.n_outputs, np.bool_), np.ones(self.n_outputs)
        with one_blas_thread(), ThreadPoolExecutor(n_threads()) as pool:
            for _ in range(MAX_GAPS):
                for epoch in range(EPOCHS):
                    self._run_epoch(pool, unfinished if epoch == 0 else None)
                before, gaps = gaps, self._gaps()
                tell(fraction_converged(gaps, tolerance))
                unfinished = ~(gaps <= tolerance)  # NaN has not converged
                if not unfinished.any() or np.median(gaps[unfinished] / before[unfinished]) > MAX_RATIO:
                    break
                self.limits[:] = np.inf
        return self.coefficients(), ~unfinished

    def coefficients(self) -> Matrix:
        """Return the coefficients of all outputs, without what fills up the last lane."""
        return np.concatenate(self.lanes, axis=1)[:, : self.n_outputs]

    def _run_epoch(self, pool: ThreadPoolExecutor, visited: NDArray[np.bool_] | None) -> None:
        """Visit all shards once; all documents, for the outputs that are to be `visited`, if given."""
        worst = np.zeros(self.n_outputs, np.float32)
        for number in self.random.permutation(len(self.features)).tolist():
            state = self.places.get(self.states, number)
            if visited is not None:
                state["active"][:] = visited
            self._visit(pool, self.places.get(self.features, number), state, self.targets[number], worst)
            self.places.put(self.states, number, state)
        self.limits = np.where(worst > 0, worst, np.inf).astype(np.float32)

    def _visit(self, pool: ThreadPoolExecutor, piece: Arrays, state: Arrays, targets: Targets, worst: Matrix) -> None:
        rows = piece["starts"], piece["terms"], piece["values"]
        outputs = list(range(self.n_outputs))
        signs, weights = targets.signs(outputs), np.float32(self.C) * targets.one_vs_rest_weights(outputs)
        inverse = (0.5 / np.maximum(weights, 1e-20)).astype(np.float32)
        lengths = _squared_lengths(*rows)
        order = self.random.permutation(np.flatnonzero(weights.any(axis=1)))

        def move(task: int) -> None:
            lane = self.lanes[task]
            some = lane[piece["columns"]]
            self.kernels[task].descend_once(
                *rows, order, self.bounds[task][0], signs, inverse, lengths,
                some, state["duals"], state["active"], self.limits, worst,
            )  # fmt: skip
            lane[piece["columns"]] = some

        for future in [pool.submit(move, task) for task in range(len(self.bounds))]:
            future.result()

    def _gaps(self) -> NDArray[np.float64]:
        """Return the duality gap of each output, relative to its objective."""
        coefficients = self.coefficients()
        penalty = 0.5 * np.einsum("ij,ij->j", coefficients, coefficients, dtype=np.float64)
        found = self.places.map(_sums_of, self.features, self.states, ByPiece(self.targets), self.C, coefficients)
        losses, duals, squares = np.sum([np.stack(sums) for sums in found], axis=0)
        primal, dual = penalty + losses, duals - penalty - 0.5 * squares
        return np.asarray((primal - dual) / np.maximum(primal, 1e-30))


def fraction_converged(gaps: NDArray[np.float64], tolerance: float) -> float:
    """Return about how much of the way to the optimum is done: the gap falls by a like factor each time.

    >>> fraction_converged(np.array([1e-3, 1e-2]), tolerance=1e-4)
    0.5
    """
    most = float(np.nan_to_num(gaps, nan=1.0).max(initial=tolerance))
    return min(max(math.log(most) / math.log(tolerance), 0.0), 1.0)


def _squared_lengths(starts: NDArray[np.int64], terms: NDArray[Any], values: Matrix) -> Matrix:
    """Return the squared length of each row; every row has a column of ones, so that none is empty."""
    return np.add.reduceat(values * values, starts[:-1]) if len(starts) > 1 else np.zeros(0, np.float32)


def _sums_of(piece: Arrays, state: Arrays, targets: Targets, C: float, coefficients: Matrix) -> tuple[Any, Any, Any]:
    """Return the loss of each output, the sum of its dual variables, and that of their squares times their ease."""
    outputs = list(range(coefficients.shape[1]))
    signs, weights = targets.signs(outputs), np.float32(C) * targets.one_vs_rest_weights(outputs)
    shape = len(piece["starts"]) - 1, len(piece["columns"])
    matrix = sp.csr_array((piece["values"], piece["terms"], piece["starts"]), shape)
    short = np.maximum(0, 1 - signs * times(matrix, coefficients[piece["columns"]]))
    duals = state["duals"]
    inverse = np.where(weights > 0, 0.5 / np.maximum(weights, 1e-20), 0)
    return (
        np.einsum("ij,ij,ij->j", weights, short, short, dtype=np.float64),
        duals.sum(axis=0, dtype=np.float64),
        np.einsum("ij,ij,ij->j", inverse, duals, duals, dtype=np.float64),
    )
