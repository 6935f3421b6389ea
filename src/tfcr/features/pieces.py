"""The features of documents that lie in shards: made piece by piece, each time they are asked for.

All outputs are fitted together, since each pass reads all shards. The columns of all blocks stand side by side, and
`sees` tells which output sees which: with own blocks, a class sees its own block and the mean. Features are centred by
the means over all documents; the scale of each output divides coefficients and sums instead of features::

    scores = X (B / scale)        sums = Xᵀ V / scale, 0 where an output does not see the column

A piece has coefficients only for the terms that it holds: `PieceFeatures.columns` are their numbers among all columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import (
    Block,
    column_starts,
    document_vectors,
    empty_blocks,
    squared,
    weighted_values,
)
from tfcr.features.matrix import (
    ROWS,
    DenseFeatures,
    Matrix,
    centre,
    chunks,
    columns_of_blocks,
    is_sparse,
    scale_of,
    sparse_block,
    times,
    transposed_times,
)
from tfcr.system.array_codec import Arrays
from tfcr.text.documents import Counted
from tfcr.text.shards import Documents, Piece, ShardedDocuments, in_memory

MAX_THROUGH_TERMS = 4
"""Blocks with weights of their own up to which products go through terms, rather than through document vectors."""


class PieceFeatures(NamedTuple):
    """The features of a piece, centred, and a column of ones; and the number of each column among all columns."""

    features: "DenseFeatures | TermFeatures"
    columns: NDArray[np.int64]


@dataclass(frozen=True)
class Layout:
    """How the features of any documents over one vocabulary are made.

    Attributes
    ----------
    blocks
        Over all terms.
    means
        What is subtracted from each column; (n_columns,).
    scales
        What divides the features that each output sees; (n_outputs,).
    """

    blocks: Sequence[Block]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """All columns, that of ones included, and the number of outputs."""
        return len(self.means) + 1, len(self.scales)

    @cached_property
    def sees(self) -> NDArray[np.bool_] | None:
        """Whether each output sees each column; None if all see all."""
        if all(block.output is None for block in self.blocks):
            return None
        sees = np.ones(self.shape, np.bool_)
        for block, columns in zip(self.blocks, columns_of_blocks(self.blocks), strict=True):
            if block.output is not None:
                sees[columns] = np.arange(len(self.scales)) == block.output
        return sees

    def unscaled(self, coefficients: Matrix, outputs: NDArray[np.int64]) -> Matrix:
        """Return coefficients of scaled features as those of features as they are."""
        found = np.array(coefficients)
        found /= self.scales[outputs].astype(found.dtype)
        found[-1] = coefficients[-1]
        return found

    def scaled(self, sums: Matrix, outputs: NDArray[np.int64]) -> Matrix:
        """Return sums over features as they are as those over scaled features, in place; 0 where unseen."""
        sums[:-1] /= self.scales[outputs].astype(np.float32)
        if self.sees is not None:
            sums *= self.sees[:, outputs]
        return sums

    @property
    def through_terms(self) -> bool:
        """Whether products are computed through terms: if features are sparse, or dense but of few weights.

        A document of 50 words has 50 rows of word vectors times coefficients to add up for each set of weights; or else
        50 rows of word vectors to add up, and its vector times the coefficients.
        """
        return len(self.blocks) <= MAX_THROUGH_TERMS and all(block.averaging == "unit" for block in self.blocks)

    def prepared(self, piece: Piece) -> Arrays:
        """Return what `features` are made of, if they are computed through terms: weighted counts of each block."""
        blocks = _at_places(self.blocks, piece.places)
        values = {f"values.{number}": weighted_values(piece, block) for number, block in enumerate(blocks)}
        matrix = piece.matrix
        return {"starts": matrix.indptr, "terms": matrix.indices, "places": piece.places, **values}

    def features(self, piece: Piece | Arrays) -> PieceFeatures:
        """Return the features of a piece, or of what `prepared` made of it."""
        if isinstance(piece, Piece) and not self.through_terms:
            columns = self._columns(piece.places)
            blocks = _at_places(self.blocks, piece.places)
            return PieceFeatures(DenseFeatures(_centred(piece, blocks, self.means[columns[:-1]])), columns)
        arrays = self.prepared(piece) if isinstance(piece, Piece) else piece
        columns = self._columns(arrays["places"])
        shape = len(arrays["starts"]) - 1, len(arrays["places"])
        weighted = [
            sp.csr_array((arrays[f"values.{number}"], arrays["terms"], arrays["starts"]), shape)
            for number in range(len(self.blocks))
        ]
        vectors = [None if block.vectors is None else block.vectors[arrays["places"]] for block in self.blocks]
        return PieceFeatures(TermFeatures(weighted, vectors, self.means[columns[:-1]]), columns)

    def in_chunks(self, piece: Piece | Arrays) -> Iterator[tuple[slice, PieceFeatures]]:
        """Yield the features of some documents after the others, if they are dense: all would take much memory."""
        if not isinstance(piece, Piece) or self.through_terms or len(piece) <= ROWS:
            whole = self.features(piece)
            yield slice(0, whole.features.shape[0]), whole
            return
        columns, blocks = self._columns(piece.places), _at_places(self.blocks, piece.places)
        for chunk in chunks(len(piece)):
            some = piece.rows(np.arange(chunk.start, chunk.stop))
            yield chunk, PieceFeatures(DenseFeatures(_centred(some, blocks, self.means[columns[:-1]])), columns)

    def sparse_features(self, piece: Piece) -> tuple[NDArray[np.int64], list[sp.csr_array]]:
        """Return the sparse features of a piece, block by block, neither centred nor scaled, and their columns."""
        blocks = [sparse_block(piece, block) for block in _at_places(self.blocks, piece.places)]
        return self._columns(piece.places), blocks

    def _columns(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = column_starts(self.blocks)
        found = [
            start + (places if block.vectors is None else np.arange(block.dimensions))
            for block, start in zip(self.blocks, starts, strict=False)
        ]
        return np.concatenate([*found, np.array([len(self.means)])])


@dataclass(frozen=True)
class TermFeatures:
    """Features that are never stored: X B is, block by block, weighted counts · (vectors · B), centred.

    Attributes
    ----------
    weighted
        Count · weight / divisor for each term of each document, for each block.
    vectors
        One per term, for each block; None stands for the identity.
    means
        What is subtracted from each column.
    """

    weighted: Sequence[sp.csr_array]
    vectors: Sequence[Any]
    means: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_documents, n_columns)."""
        return self.weighted[0].shape[0], len(self.means) + 1

    def times(self, coefficients: Matrix) -> Matrix:
        """Return X B."""
        centre_scores = coefficients[-1] - self.means.astype(coefficients.dtype) @ coefficients[:-1]
        scores = np.repeat(centre_scores[None], self.shape[0], axis=0)
        for columns, weighted, vectors in self._blocks():
            part = coefficients[columns]
            scores += times(weighted, part if vectors is None else np.asarray(vectors @ part, part.dtype))
        return scores

    def transposed_times(self, values: Matrix) -> Matrix:
        """Return Xᵀ V."""
        totals = values.sum(axis=0)
        product = np.empty((self.shape[1], values.shape[1]), np.float32)
        product[-1] = totals
        for columns, weighted, vectors in self._blocks():
            by_term = transposed_times(weighted, values)
            product[columns] = by_term if vectors is None else vectors.T @ by_term
        if self.means.any():
            product[:-1] -= np.outer(self.means, totals)
        return product

    def squares_times(self, values: Matrix) -> Matrix:
        """Return about (X∘X)ᵀ V: terms of a document that share a column count as if they did not."""
        product = np.empty((self.shape[1], values.shape[1]), np.float32)
        product[-1] = values.sum(axis=0)
        for columns, weighted, vectors in self._blocks():
            by_term = transposed_times(squared(weighted), values)
            product[columns] = by_term if vectors is None else (vectors * vectors).T @ by_term
        return product

    def take(self, rows: NDArray[np.int64]) -> Matrix:
        """Compute some rows."""
        matrix = np.ones((len(rows), self.shape[1]), np.float32)
        for columns, weighted, vectors in self._blocks():
            some: Any = weighted[rows] if vectors is None else weighted[rows] @ vectors
            matrix[:, columns] = some.toarray() if hasattr(some, "toarray") else some
        matrix[:, :-1] -= self.means.astype(np.float32)
        return matrix

    def select(self, rows: NDArray[np.int64]) -> "TermFeatures":
        """Return the features of some documents."""
        return replace(self, weighted=[weighted[rows] for weighted in self.weighted])

    def _blocks(self) -> Iterator[tuple[slice, sp.csr_array, Any]]:
        start = 0
        for weighted, vectors in zip(self.weighted, self.vectors, strict=True):
            size = int(weighted.shape[1] if vectors is None else vectors.shape[1])
            yield slice(start, start + size), weighted, vectors
            start += size


def _at_places(blocks: Sequence[Block], places: NDArray[np.int64]) -> list[Block]:
    """Return blocks over some of their terms; blocks that share vectors still do."""
    vectors = {id(block.vectors): block.vectors for block in blocks if block.vectors is not None}
    some: dict[int, Any] = {key: found[places] for key, found in vectors.items()}
    return [
        replace(block, weights=block.weights[places], vectors=some.get(id(block.vectors)), pieces=None)
        for block in blocks
    ]


def _centred(documents: Counted, blocks: Sequence[Block], means: NDArray[np.float64]) -> Matrix:
    matrix = np.ones((len(documents), column_starts(blocks)[-1] + 1), np.float32)
    document_vectors(documents, blocks, threads=1, out=matrix[:, :-1])
    centre(matrix, columns_of_blocks(blocks), means, empty_blocks(documents, blocks))
    return matrix


def make_layout(
    documents: ShardedDocuments, blocks: Sequence[Block], sample_weight: NDArray[np.float64], n_outputs: int
) -> Layout:
    """Work out means and scales in two passes over the documents: those that `scaled_features` would find."""
    n_columns = column_starts(blocks)[-1]
    weights = documents.by_piece(sample_weight)
    means = np.zeros(n_columns)
    if not all(map(is_sparse, blocks)):  # those are not centred, since that would make them dense
        totals = np.zeros(len(blocks))
        for sums, used in documents.map(_column_sums, blocks, weights):
            means += sums
            totals += used
        for columns, total in zip(columns_of_blocks(blocks), totals.tolist(), strict=True):
            means[columns] /= max(total, 1e-30)
    squares = np.sum([np.zeros(len(blocks)), *documents.map(_squares, blocks, means, weights)], axis=0)
    squares /= sample_weight.sum()
    scales = np.empty(n_outputs)
    for output in range(n_outputs):
        seen = [number for number, block in enumerate(blocks) if block.output in (None, output)]
        seen_means = np.concatenate([means[columns_of_blocks(blocks)[number]] for number in seen])
        scales[output] = scale_of(float(squares[seen].sum()), seen_means)
    return Layout(blocks, means, scales)


def _column_sums(
    piece: Piece, blocks: Sequence[Block], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weighted sum of each column, and of the weights of documents whose block is not empty."""
    some = _at_places(blocks, piece.places)
    used = weights @ ~empty_blocks(piece, some)
    sums = np.zeros(column_starts(blocks)[-1])
    for chunk in chunks(len(piece)):
        vectors = document_vectors(piece.rows(np.arange(chunk.start, chunk.stop)), some, threads=1)
        sums += weights[chunk] @ vectors.astype(np.float64)
    return sums, used


def _squares(
    piece: Piece, blocks: Sequence[Block], means: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weighted sum of squared lengths of each block, centred; (n_blocks,)."""
    some = _at_places(blocks, piece.places)
    if all(map(is_sparse, some)):
        return np.array([weights @ _squared_lengths(sparse_block(piece, block)) for block in some])
    found = np.zeros(len(some))
    for chunk in chunks(len(piece)):
        matrix = _centred(piece.rows(np.arange(chunk.start, chunk.stop)), some, means)
        for number, columns in enumerate(columns_of_blocks(some)):
            lengths = np.einsum("ij,ij->i", matrix[:, columns], matrix[:, columns])
            found[number] += weights[chunk] @ lengths.astype(np.float64)
    return found


def _squared_lengths(matrix: sp.csr_array) -> NDArray[np.float64]:
    squares = sp.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), matrix.shape)
    return np.asarray(squares.sum(axis=1), np.float64)


def whole_piece(documents: Documents) -> Piece:
    """Return documents in memory as a piece that holds all terms."""
    known = in_memory(documents)
    return Piece(known.matrix, known.lengths, np.arange(known.matrix.shape[1]))
