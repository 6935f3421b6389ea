"""The matrix that a head learns from: document vectors, centred, divided by one scale, then a column of ones.

On raw features, solvers stop far from the optimum. The scale makes the mean squared row norm 1, so that C means the
same on every dataset. Empty blocks are replaced by the average block: zeros, after centring.

A matrix is known by `shape`, `times`, `transposed_times`, `take` and `select`, whether it is held in memory, dense or
sparse, or computed on demand from counts, weights and word vectors because it does not fit. Solvers know nothing else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import (
    AVERAGINGS,
    Block,
    column_starts,
    document_vectors,
    empty_blocks,
    squared,
    weighted_counts,
)
from tfcr.features.cross_fit import FoldBlocks
from tfcr.system.hardware import memory_limit
from tfcr.text.documents import Counted, CountedDocuments

Matrix = NDArray[np.float32]

ROWS = 4096
"""Documents processed together, so that no second copy of the features is made."""

MIN_NATIVE_PRODUCTS = 20_000_000
"""Multiplications of a sparse product above which compiled code takes less time than it takes to load."""

SHARED_BYTES = 1 << 28
"""Memory for the document vectors of several views together: more would not be faster."""

GRAM_OPERATIONS = 20_000_000_000
"""Multiplications between two checks for Ctrl-C."""


class Features(Protocol):
    """A matrix X of shape (n_documents, n_columns), whose last column is 1, for the intercept."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B; (n_documents, n_outputs)."""

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V; (n_columns, n_outputs)."""

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""

    def select(self, rows: NDArray[np.int64]) -> "Features":
        """Return the features of some documents."""


def chunks(n_documents: int) -> list[slice]:
    """Return the ranges of documents that are processed together."""
    return [slice(start, min(start + ROWS, n_documents)) for start in range(0, n_documents, ROWS)]


def gram(features: Features, weights: Matrix, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return Xᵀ diag(weights) X for weights (n_documents,), summed in `dtype`; (n_columns, n_columns)."""
    n_documents, n_columns = features.shape
    total = np.zeros((n_columns, n_columns), dtype)
    step = min(ROWS, max(256, GRAM_OPERATIONS // n_columns**2))
    for start in range(0, n_documents, step):
        chunk = np.arange(start, min(start + step, n_documents))
        rows = features.take(chunk)
        total += rows.T @ (rows * weights[chunk, None])
    return total


@dataclass(frozen=True)
class DenseFeatures:
    """A matrix in memory."""

    matrix: Matrix

    @property
    def size(self) -> int:
        """The number of values."""
        return self.matrix.size

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""
        return self.matrix.shape

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        return self.matrix @ coefficients

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        return self.matrix.T @ values

    def squares_times(self, values: Matrix) -> Matrix:
        """Return (X∘X)ᵀ V."""
        return np.asarray(np.square(self.matrix).T @ values, values.dtype)

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""
        return self.matrix[rows]

    def select(self, rows: NDArray[np.int64]) -> "DenseFeatures":
        """Return the features of some documents."""
        return DenseFeatures(self.matrix[rows])


@dataclass(frozen=True)
class OnDemandFeatures:
    """A matrix that is never stored: X B is, block by block, weighted counts · (vectors · B), centred."""

    documents: Counted
    blocks: Sequence[Block]
    empty: NDArray[np.bool_]
    means: NDArray[np.float64]
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""
        return len(self.documents), len(self.means) + 1

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        scores = np.repeat(coefficients[-1:], len(self.documents), axis=0)
        for number, columns in enumerate(self._columns()):
            part, means = coefficients[columns] / np.float32(self.scale), self.means[columns]
            scores += _block_scores(self.documents, self.blocks[number], self.empty[:, number], part, means)
        return scores

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        product = np.empty((self.shape[1], values.shape[1]), np.float32)
        product[-1] = values.sum(axis=0)
        for number, columns in enumerate(self._columns()):
            vectors = self.blocks[number].vectors
            by_word = transposed_times(weighted_counts(self.documents, self.blocks[number]), values)
            centre = np.outer(self.means[columns], (~self.empty[:, number]).astype(np.float32) @ values)
            product[columns] = ((by_word if vectors is None else vectors.T @ by_word) - centre) / self.scale
        return product

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Compute some rows."""
        some = self.documents.rows(rows)
        matrix = np.ones((len(rows), self.shape[1]), np.float32)
        document_vectors(some, self.blocks, out=matrix[:, :-1])
        centre(matrix, self._columns(), self.means, self.empty[rows])
        matrix[:, :-1] /= np.float32(self.scale)
        return matrix

    def select(self, rows: NDArray[np.int64]) -> "OnDemandFeatures":
        """Return the features of some documents."""
        return replace(self, documents=self.documents.rows(rows), empty=self.empty[rows])

    def _columns(self) -> list[slice]:
        return columns_of_blocks(self.blocks)


@dataclass(frozen=True)
class SparseFeatures:
    """A sparse matrix in memory, such as TF-IDF."""

    matrix: sp.csr_array

    @property
    def size(self) -> int:
        """The number of nonzero values."""
        return int(self.matrix.nnz)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        return np.asarray(self.matrix @ coefficients, coefficients.dtype)

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        return np.asarray(self.matrix.T @ values, values.dtype)

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows, dense."""
        return np.asarray(self.matrix[rows].toarray())

    def select(self, rows: NDArray[np.int64]) -> "SparseFeatures":
        """Return the features of some documents."""
        return SparseFeatures(self.matrix[rows])


def in_float64(features: Features, largest: float) -> Features:
    """Return a copy in float64, for weights so large (`largest`) that float32 would give a wrong solution."""
    if isinstance(features, DenseFeatures | SparseFeatures) and 8 * features.size <= memory_limit():
        double: Any = features.matrix.astype(np.float64)
        return type(features)(double)
    raise InputError(
        f"found {largest:.2g} for C times sample weight times class weight, and features that do not fit into memory "
        "in float64, which that needs; give a smaller C, smaller weights, or more memory: max_memory='8GB'"
    )


@dataclass(frozen=True)
class ScaledFeatures:
    """Features, with the means subtracted from each column and the scale that divided them.

    `columns` are the numbers of their columns among those of the blocks; None if they are all of them, in this order.
    """

    features: Features
    means: NDArray[np.float64]
    scale: float
    columns: NDArray[np.int64] | None = None


def features_of_views(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    views: Sequence[Sequence[int]],
    sample_weight: NDArray[np.float64],
    max_memory: int,
    fold_blocks: Sequence[FoldBlocks] = (),
) -> Iterator[ScaledFeatures]:
    """Yield the features of each view: the numbers of the blocks that some outputs see.

    With own blocks, output 0 sees block 0 and the mean (block 2), output 1 sees block 1 and the mean: the views are
    [0, 2] and [1, 2]. Where memory allows, the vectors of blocks [0, 1, 2] are computed once, and each view takes its
    columns from them: the mean is not computed twice, and each word vector is fetched once.
    """
    fold_blocks = fold_blocks or [FoldBlocks(np.arange(len(documents)), blocks)]
    widest = max(column_starts([blocks[number] for number in view])[-1] for view in views)
    together = min(max_memory // 2, SHARED_BYTES) // (4 * max(1, len(documents)) * max(1, widest))
    if len(views) == 1 or together < 2 or any(is_sparse(block) for block in blocks):
        for view in views:
            seen = [fold.select(view) for fold in fold_blocks]
            yield scaled_features(documents, [blocks[number] for number in view], sample_weight, max_memory, seen)
        return
    for first in range(0, len(views), together):
        yield from _features_from_shared(documents, blocks, views[first : first + together], sample_weight, fold_blocks)


def _features_from_shared(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    views: Sequence[Sequence[int]],
    sample_weight: NDArray[np.float64],
    fold_blocks: Sequence[FoldBlocks],
) -> Iterator[ScaledFeatures]:
    """Compute the blocks that some views see between them, once, and yield each view's features."""
    numbers = sorted({number for view in views for number in view})
    shared = [blocks[number] for number in numbers]
    vectors, empty = _vectors_with_ones(documents, [fold.select(numbers) for fold in fold_blocks])
    columns = columns_of_blocks(shared)
    for view in views:
        places = np.searchsorted(numbers, view).tolist()
        matrix = np.concatenate([vectors[:, columns[place]] for place in places] + [vectors[:, -1:]], axis=1)
        yield _scale_dense(matrix, [shared[place] for place in places], empty[:, places], sample_weight)


def scaled_features(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    sample_weight: NDArray[np.float64],
    max_memory: int,
    fold_blocks: Sequence[FoldBlocks] = (),
) -> ScaledFeatures:
    """Return the features of documents: in memory, or computed on demand if they need more than `max_memory` bytes.

    Parameters
    ----------
    documents, blocks, sample_weight
        What the features are made of, and the weight of each document in the means and the scale.
    max_memory
        In bytes.
    fold_blocks
        Where features are cross-fitted: the blocks to use instead for each fold.
    """
    if all(is_sparse(block) for block in blocks):
        return _scale_sparse(documents, blocks, sample_weight)
    needed = 4 * len(documents) * (column_starts(blocks)[-1] + 1)
    if needed <= max_memory:
        whole = [FoldBlocks(np.arange(len(documents)), blocks)]
        vectors, empty = _vectors_with_ones(documents, fold_blocks or whole)
        return _scale_dense(vectors, blocks, empty, sample_weight)
    if len(fold_blocks) > 1:
        raise InputError(
            f"found cross-fitted features of {needed / 1e9:.1f} GB and max_memory of {max_memory / 1e9:.1f} GB; "
            "expected them to fit: give a larger max_memory, blocks='own', or cross_fit=0"
        )
    return _scale_on_demand(documents, blocks, sample_weight)


def is_sparse(block: Block) -> bool:
    """Return whether its features are sparse: as many columns as terms, few of which a document has."""
    return AVERAGINGS[block.averaging].sublinear and (block.vectors is None or sp.issparse(block.vectors))


def _scale_sparse(
    documents: CountedDocuments, blocks: Sequence[Block], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    """Return sparse features, scaled but not centred: centring would make them dense.

    Common columns come first, so that what solvers read most lies close together, and columns that no document has
    are left out.
    """
    parts = [sparse_block(documents, block) for block in blocks]
    squares = np.sum([np.asarray(squared(part).sum(axis=1), np.float64) for part in parts], axis=0)
    scale = _scale(squares, sample_weight, np.zeros(1))
    ones = np.full((len(documents), 1), scale, np.float32)  # divided by the scale, as all columns are
    stacked: sp.csr_array = sp.hstack([*parts, sp.csr_array(ones)], "csr", np.float32)
    n_columns = stacked.shape[1] - 1
    used = np.bincount(stacked.indices, minlength=n_columns + 1)
    columns = np.argsort(-used[:-1], kind="stable")[: np.count_nonzero(used[:-1])]
    numbers = np.zeros(n_columns + 1, np.int32)
    numbers[columns] = np.arange(len(columns))
    numbers[-1] = len(columns)
    stacked.data /= np.float32(scale)
    shape = len(documents), len(columns) + 1
    starts = stacked.indptr.astype(np.int32) if stacked.nnz < 1 << 31 else stacked.indptr  # scikit-learn needs 32 bits
    matrix = sp.csr_array((stacked.data, numbers[stacked.indices], starts), shape)
    return ScaledFeatures(SparseFeatures(matrix), np.zeros(len(columns)), scale, columns)


def sparse_block(documents: Counted, block: Block) -> sp.csr_array:
    """Return the features of a block that is sparse."""
    weighted = weighted_counts(documents, block)
    return weighted if block.vectors is None else sp.csr_array(weighted @ block.vectors)


def _vectors_with_ones(
    documents: CountedDocuments, fold_blocks: Sequence[FoldBlocks]
) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return document vectors, then a column of ones; and which blocks are empty."""
    blocks = fold_blocks[0].blocks
    matrix = np.ones((len(documents), column_starts(blocks)[-1] + 1), np.float32)
    if len(fold_blocks) == 1:
        document_vectors(documents, blocks, out=matrix[:, :-1])
        return matrix, empty_blocks(documents, blocks)
    empty = np.zeros((len(documents), len(blocks)), np.bool_)
    for rows, blocks_of_fold in fold_blocks:
        fold = documents.rows(rows)
        matrix[rows, :-1] = document_vectors(fold, blocks_of_fold)
        empty[rows] = empty_blocks(fold, blocks_of_fold)
    return matrix, empty


def _scale_dense(
    matrix: Matrix, blocks: Sequence[Block], empty: NDArray[np.bool_], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    """Centre and scale document vectors in place."""
    means = np.zeros(matrix.shape[1] - 1)
    for number, columns in enumerate(columns_of_blocks(blocks)):
        weights = np.where(empty[:, number], 0, sample_weight).astype(np.float32)
        means[columns] = (weights @ matrix[:, columns]).astype(np.float64) / max(float(weights.sum()), 1e-30)
    centre(matrix, columns_of_blocks(blocks), means, empty)
    scale = _scale(_squared_norms(matrix), sample_weight, means)
    matrix[:, :-1] /= np.float32(scale)
    return ScaledFeatures(DenseFeatures(matrix), means, scale)


def _scale_on_demand(
    documents: CountedDocuments, blocks: Sequence[Block], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    """Work out means and scale without storing the features."""
    empty = empty_blocks(documents, blocks)
    means = np.zeros(column_starts(blocks)[-1])
    for number, columns in enumerate(columns_of_blocks(blocks)):
        weights = np.where(empty[:, number], 0, sample_weight)
        by_word = weighted_counts(documents, blocks[number]).T @ weights
        vectors = blocks[number].vectors
        means[columns] = (by_word if vectors is None else by_word @ vectors) / max(float(weights.sum()), 1e-30)
    centred = OnDemandFeatures(documents, blocks, empty, means, 1.0)
    squares = [_squared_norms(centred.take(np.arange(at.start, at.stop))) for at in chunks(len(documents))]
    scale = _scale(np.concatenate(squares), sample_weight, means)
    return ScaledFeatures(OnDemandFeatures(documents, blocks, empty, means, scale), means, scale)


def _block_scores(
    documents: Counted, block: Block, empty: NDArray[np.bool_], part: Matrix, means: NDArray[np.float64]
) -> Matrix:
    """Return what one block, centred, adds to the scores; `part` are its coefficients."""
    along = part if block.vectors is None else block.vectors @ part
    mean_scores = ~empty[:, None] * (means.astype(np.float32) @ part)
    return np.asarray(times(weighted_counts(documents, block), along) - mean_scores, part.dtype)


def times(matrix: sp.csr_array, dense: Matrix) -> Matrix:
    """Return the product of a sparse matrix with a dense one of few columns; a large one by compiled code."""
    if matrix.nnz * dense.shape[1] < MIN_NATIVE_PRODUCTS or dense.dtype != np.float32:
        return np.asarray(matrix @ dense)
    from tfcr.system.native import add_times  # noqa: PLC0415 - numba loads slowly

    found = np.zeros((matrix.shape[0], dense.shape[1]), np.float32)
    add_times(*_arrays(matrix), np.ascontiguousarray(dense), found)
    return found


def transposed_times(matrix: sp.csr_array, dense: Matrix) -> Matrix:
    """Return the product of a transposed sparse matrix with a dense one of few columns."""
    if matrix.nnz * dense.shape[1] < MIN_NATIVE_PRODUCTS or dense.dtype != np.float32:
        return np.asarray(matrix.T @ dense)
    from tfcr.system.native import add_transposed_times  # noqa: PLC0415

    found = np.zeros((matrix.shape[1], dense.shape[1]), np.float32)
    add_transposed_times(*_arrays(matrix), np.ascontiguousarray(dense), found)
    return found


def _arrays(matrix: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], Matrix]:
    """Return the arrays of a sparse matrix, of the types that compiled code is compiled for."""
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


def columns_of_blocks(blocks: Sequence[Block]) -> list[slice]:
    """Return the columns of each block."""
    return [slice(start, end) for start, end in pairwise(column_starts(blocks))]


def centre(matrix: Matrix, columns: Sequence[slice], means: NDArray[np.float64], empty: NDArray[np.bool_]) -> None:
    """Subtract the means from the columns of each block, in place; empty blocks become 0."""
    for number, block in enumerate(columns):
        part = matrix[:, block]
        part -= means[block].astype(np.float32)
        part[empty[:, number]] = 0


def _squared_norms(matrix: Matrix) -> NDArray[np.float64]:
    """Return the squared L2 norm of each row without its last column."""
    return np.asarray(np.einsum("ij,ij->i", matrix[:, :-1], matrix[:, :-1]), np.float64)


def _scale(squares: NDArray[np.float64], sample_weight: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """Return the scale of documents, given their squared lengths."""
    return scale_of(float(np.average(squares, weights=sample_weight)), means)


def scale_of(mean_square: float, means: NDArray[np.float64]) -> float:
    """Return the scale; 1 if all documents are equal and only rounding errors are left of them."""
    scale = float(np.sqrt(mean_square))
    return scale if scale > 1e-6 * np.linalg.norm(means) else 1.0
