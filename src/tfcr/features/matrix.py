"""The matrix that a head learns from: document vectors, centred, divided by one scale, then a column of ones.

On raw features solvers stop far from the optimum; the scale makes the mean squared length of a row 1, so that C means
the same on every dataset. Blocks that average nothing are taken for the average block: zeros, after centring.

The matrix is held in memory where it fits. Else it is never made: its products are worked out from the counts, the
weights and the word vectors, and only the rows asked for are computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.errors import InputError
from tfcr.features.blocks import AVERAGINGS, Block, column_starts, document_vectors, empty_blocks, squared, word_shares
from tfcr.features.cross_fit import Cut
from tfcr.text.documents import CountedDocuments

Matrix = NDArray[np.float32]

ROWS = 4096
"""Documents worked on together, so that no second copy of the features is made."""

SHARED_BYTES = 1 << 28
"""What the document vectors of several views may take together: more would not be quicker."""

GRAM_OPERATIONS = 20_000_000_000
"""Multiplications of a matrix product between which Ctrl-C is heard."""


class Features(Protocol):
    """A matrix X of shape (n_documents, n_columns), whose last column is 1, the intercept's."""

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and columns."""

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B; (n_documents, n_outputs)."""

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V; (n_columns, n_outputs)."""

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""


def chunks(n_documents: int) -> list[slice]:
    """Return the ranges of documents that are worked on together."""
    return [slice(start, min(start + ROWS, n_documents)) for start in range(0, n_documents, ROWS)]


def gram(features: Features, weights: Matrix, dtype: type[np.floating[Any]]) -> NDArray[Any]:
    """Return Xᵀ diag(weights) X for weights (n_documents,), added up in `dtype`; (n_columns, n_columns)."""
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
        """How many numbers it has."""
        return self.matrix.size

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and columns."""
        return self.matrix.shape

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        return self.matrix @ coefficients

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        return self.matrix.T @ values

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows."""
        return self.matrix[rows]


@dataclass(frozen=True)
class OnDemandFeatures:
    """A matrix that is never made: X B is, block by block, counts · (vectors · B), divided and centred."""

    documents: CountedDocuments
    blocks: Sequence[Block]
    empty: NDArray[np.bool_]
    means: NDArray[np.float64]
    scale: float

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and columns."""
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
            by_word = _shares(self.documents, self.blocks[number]).T @ values
            centre = np.outer(self.means[columns], (~self.empty[:, number]).astype(np.float32) @ values)
            product[columns] = ((by_word if vectors is None else vectors.T @ by_word) - centre) / self.scale
        return product

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Compute some rows."""
        some = self.documents.rows(rows)
        matrix = np.ones((len(rows), self.shape[1]), np.float32)
        document_vectors(some.matrix, some.lengths, self.blocks, out=matrix[:, :-1])
        _centre(matrix, self._columns(), self.means, self.empty[rows])
        matrix[:, :-1] /= np.float32(self.scale)
        return matrix

    def _columns(self) -> list[slice]:
        return _columns(self.blocks)


@dataclass(frozen=True)
class SparseFeatures:
    """A matrix of mostly zeros in memory, such as TF-IDF."""

    matrix: sp.csr_array

    @property
    def size(self) -> int:
        """How many numbers it has, zeros left out."""
        return int(self.matrix.nnz)

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and columns."""
        return self.matrix.shape[0], self.matrix.shape[1]

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        return np.asarray(self.matrix @ coefficients, np.float32)

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        return np.asarray(self.matrix.T @ values, np.float32)

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Return some rows, dense."""
        return np.asarray(self.matrix[rows].toarray())


@dataclass(frozen=True)
class ScaledFeatures:
    """Features with the means that were taken off each column, and the scale that divides them."""

    features: Features
    means: NDArray[np.float64]
    scale: float


def features_of_views(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    views: Sequence[Sequence[int]],
    sample_weight: NDArray[np.float64],
    max_memory: int,
    cuts: Sequence[Cut] = (),
) -> Iterator[ScaledFeatures]:
    """Yield the features for each view, which is the numbers of the blocks that it sees.

    Those of several views are worked out together: they share blocks, and each word's vector is fetched once.
    """
    cuts = cuts or [Cut(np.arange(len(documents)), blocks)]
    widest = max(column_starts([blocks[number] for number in view])[-1] for view in views)
    together = min(max_memory // 2, SHARED_BYTES) // (4 * max(1, len(documents)) * widest)
    if len(views) == 1 or together < 2 or any(_is_sparse(block) for block in blocks):
        for view in views:
            seen = [cut.seeing(view) for cut in cuts]
            yield scaled_features(documents, [blocks[number] for number in view], sample_weight, max_memory, seen)
        return
    for first in range(0, len(views), together):
        some = views[first : first + together]
        numbers = sorted({number for view in some for number in view})
        shared = [blocks[number] for number in numbers]
        vectors, empty = _vectors_with_ones(documents, [cut.seeing(numbers) for cut in cuts])
        columns = _columns(shared)
        for view in some:
            places = np.searchsorted(numbers, view).tolist()
            matrix = np.concatenate([vectors[:, columns[place]] for place in places] + [vectors[:, -1:]], axis=1)
            yield _scale_held(matrix, [shared[place] for place in places], empty[:, places], sample_weight)


def scaled_features(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    sample_weight: NDArray[np.float64],
    max_memory: int,
    cuts: Sequence[Cut] = (),
) -> ScaledFeatures:
    """Return the features of documents: held in memory, or computed if they took more than `max_memory` bytes."""
    if all(_is_sparse(block) for block in blocks):
        return _hold_sparse(documents, blocks, sample_weight)
    needed = 4 * len(documents) * (column_starts(blocks)[-1] + 1)
    if needed <= max_memory:
        vectors, empty = _vectors_with_ones(documents, cuts or [Cut(np.arange(len(documents)), blocks)])
        return _scale_held(vectors, blocks, empty, sample_weight)
    if len(cuts) > 1:
        raise InputError(
            f"found features of {needed / 1e9:.1f} GB and max_memory of {max_memory / 1e9:.1f} GB; cross-fitted ones "
            "are held in memory: expected a larger max_memory, blocks='own', or cross_fit=0"
        )
    return _compute(documents, blocks, empty_blocks(documents.matrix, blocks), sample_weight)


def _is_sparse(block: Block) -> bool:
    return AVERAGINGS[block.averaging].sublinear and (block.vectors is None or sp.issparse(block.vectors))


def _hold_sparse(
    documents: CountedDocuments, blocks: Sequence[Block], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    """Return sparse features, scaled but not centred, which would fill them."""
    parts = [_sparse_block(documents, block) for block in blocks]
    matrix: sp.csr_array = sp.hstack(parts, "csr")
    means = np.zeros(matrix.shape[1])
    scale = _scale(np.asarray(squared(matrix).sum(axis=1), np.float64), sample_weight, means)
    ones = sp.csr_array(np.ones((len(documents), 1), np.float32))
    with_ones: sp.csr_array = sp.hstack([matrix / np.float32(scale), ones], "csr")
    return ScaledFeatures(SparseFeatures(with_ones), means, scale)


def _sparse_block(documents: CountedDocuments, block: Block) -> sp.csr_array:
    shares = _shares(documents, block)
    return shares if block.vectors is None else sp.csr_array(shares @ block.vectors)


def _vectors_with_ones(documents: CountedDocuments, cuts: Sequence[Cut]) -> tuple[Matrix, NDArray[np.bool_]]:
    """Return document vectors, then a column of ones; and which blocks are empty."""
    matrix = np.ones((len(documents), column_starts(cuts[0].blocks)[-1] + 1), np.float32)
    if len(cuts) == 1:
        document_vectors(documents.matrix, documents.lengths, cuts[0].blocks, out=matrix[:, :-1])
        return matrix, empty_blocks(documents.matrix, cuts[0].blocks)
    empty = np.zeros((len(documents), len(cuts[0].blocks)), np.bool_)
    for rows, blocks in cuts:
        some = documents.rows(rows)
        matrix[rows, :-1] = document_vectors(some.matrix, some.lengths, blocks)
        empty[rows] = empty_blocks(some.matrix, blocks)
    return matrix, empty


def _scale_held(
    matrix: Matrix, blocks: Sequence[Block], empty: NDArray[np.bool_], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    """Centre and scale document vectors where they are."""
    means = np.zeros(matrix.shape[1] - 1)
    for number, columns in enumerate(_columns(blocks)):
        weights = np.where(empty[:, number], 0, sample_weight).astype(np.float32)
        means[columns] = (weights @ matrix[:, columns]).astype(np.float64) / max(float(weights.sum()), 1e-30)
    _centre(matrix, _columns(blocks), means, empty)
    scale = _scale(_squared_lengths(matrix), sample_weight, means)
    matrix[:, :-1] /= np.float32(scale)
    return ScaledFeatures(DenseFeatures(matrix), means, scale)


def _compute(
    documents: CountedDocuments, blocks: Sequence[Block], empty: NDArray[np.bool_], sample_weight: NDArray[np.float64]
) -> ScaledFeatures:
    raw = OnDemandFeatures(documents, blocks, empty, np.zeros(column_starts(blocks)[-1]), 1.0)
    means = np.zeros(len(raw.means))
    for number, columns in enumerate(_columns(blocks)):
        weights = np.where(empty[:, number], 0, sample_weight)
        by_word = _shares(documents, blocks[number]).T @ weights
        vectors = blocks[number].vectors
        means[columns] = (by_word if vectors is None else by_word @ vectors) / max(float(weights.sum()), 1e-30)
    centred = OnDemandFeatures(documents, blocks, empty, means, 1.0)
    squares = [_squared_lengths(centred.take(np.arange(at.start, at.stop))) for at in chunks(len(documents))]
    scale = _scale(np.concatenate(squares), sample_weight, means)
    return ScaledFeatures(OnDemandFeatures(documents, blocks, empty, means, scale), means, scale)


def score_blocks(
    documents: CountedDocuments,
    blocks: Sequence[Block],
    coefficients: NDArray[np.float64],
    means: NDArray[np.float64],
    intercepts: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the scores of documents by what a head learned; (n_documents, n_outputs)."""
    empty = empty_blocks(documents.matrix, blocks)
    scores = np.repeat(intercepts[None, :], len(documents), axis=0)
    for number, columns in enumerate(_columns(blocks)):
        output = blocks[number].output
        seen = slice(None) if output is None else slice(output, output + 1)
        part = coefficients[columns, seen].astype(np.float32)
        scores[:, seen] += _block_scores(documents, blocks[number], empty[:, number], part, means[columns])
    return scores


def _block_scores(
    documents: CountedDocuments, block: Block, empty: NDArray[np.bool_], part: Matrix, means: NDArray[np.float64]
) -> Matrix:
    """Return what one block adds to scores, where its means were taken off; `part` are its coefficients."""
    along = part if block.vectors is None else block.vectors @ part
    found: Matrix = _shares(documents, block) @ along - ~empty[:, None] * (means.astype(np.float32) @ part)
    return found


def _columns(blocks: Sequence[Block]) -> list[slice]:
    return [slice(start, end) for start, end in pairwise(column_starts(blocks))]


def _shares(documents: CountedDocuments, block: Block) -> sp.csr_array:
    return word_shares(documents.matrix, documents.lengths, block)


def _centre(matrix: Matrix, columns: Sequence[slice], means: NDArray[np.float64], empty: NDArray[np.bool_]) -> None:
    for number, block in enumerate(columns):
        part = matrix[:, block]
        part -= means[block].astype(np.float32)
        part[empty[:, number]] = 0


def _squared_lengths(matrix: Matrix) -> NDArray[np.float64]:
    """Return the squared length of each row, its last column left out."""
    return np.asarray(np.einsum("ij,ij->i", matrix[:, :-1], matrix[:, :-1]), np.float64)


def _scale(squares: NDArray[np.float64], sample_weight: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """Return the scale; 1 where all documents are alike, and what is left of them is rounding."""
    scale = float(np.sqrt(np.average(squares, weights=sample_weight)))
    return scale if scale > 1e-6 * np.linalg.norm(means) else 1.0
