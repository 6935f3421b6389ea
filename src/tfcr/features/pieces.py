"""The features of documents that lie in shards: made piece by piece, each time they are asked for.

All outputs are fitted together, since each pass reads all shards. The columns of all blocks stand side by side, and
`sees` tells which output sees which: with own blocks, a class sees its own block and the mean. Features are centred by
the means over all documents; the scale of each output divides coefficients and sums instead of features::

    scores = X (B / scale)        sums = Xᵀ V / scale, 0 where an output does not see the column

A piece has coefficients only for the terms that it holds: `PieceFeatures.columns` are their numbers among all columns.

What takes long to compute is kept beside the pieces, where there is room: of features that are products through terms,
their weighted counts; of dense ones, all of them, as whole numbers of 16 bits.
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

    @property
    def bytes_prepared(self) -> int:
        """About what `prepared` takes for each document, beyond what its counts take."""
        return 0 if self.through_terms else 2 * self.shape[0]

    def prepared(self, piece: Piece) -> Arrays:
        """Return what `in_chunks` makes the features of a piece of faster than of the piece itself."""
        return self._weighted_counts(piece) if self.through_terms else self._whole_numbers(piece)

    def _whole_numbers(self, piece: Piece) -> Arrays:
        """Return dense features as whole numbers of 16 bits, times a unit for each column of each chunk of documents.

        The largest feature of a column is 32,767 units, so that rounding changes none by more than 1/65,534 of that::

            features  .5 -.25  1     unit  1/32,767     numbers  16,384  -8,192  32,767
        """
        n_columns = len(self._columns(piece.places))
        numbers = np.empty((len(piece), n_columns), np.int16)
        units = []
        for rows, (features, _) in self.in_chunks(piece):
            matrix = features.take(np.arange(features.shape[0]))
            largest = np.abs(matrix).max(axis=0, initial=0)
            units.append(np.where(largest > 0, largest, 1) / np.float32(np.iinfo(np.int16).max))
            numbers[rows] = np.rint(matrix / units[-1])
        return {"numbers": numbers, "units": np.stack(units), "places": piece.places}

    def _weighted_counts(self, piece: Piece) -> Arrays:
        """Return what features are made of that are computed through terms: weighted counts of each block."""
        blocks = _at_places(self.blocks, piece.places)
        values = {f"values.{number}": weighted_values(piece, block) for number, block in enumerate(blocks)}
        matrix = piece.matrix
        return {"starts": matrix.indptr, "terms": matrix.indices, "places": piece.places, **values}

    def features(self, piece: Piece | Arrays) -> PieceFeatures:
        """Return the features of a piece, or of what `prepared` made of it: weighted counts."""
        if isinstance(piece, Piece) and not self.through_terms:
            columns = self._columns(piece.places)
            blocks = _at_places(self.blocks, piece.places)
            return PieceFeatures(DenseFeatures(_centred(piece, blocks, self.means[columns[:-1]])), columns)
        arrays = self._weighted_counts(piece) if isinstance(piece, Piece) else piece
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
        if not isinstance(piece, Piece) and "numbers" in piece:
            columns = self._columns(piece["places"])
            for chunk, units in zip(chunks(len(piece["numbers"])), piece["units"], strict=True):
                matrix = np.multiply(piece["numbers"][chunk], units, dtype=np.float32)
                yield chunk, PieceFeatures(DenseFeatures(matrix), columns)
            return
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
    """Work out means and scales in a pass over the documents: those that `scaled_features` would find."""
    n_columns = column_starts(blocks)[-1]
    columns = columns_of_blocks(blocks)
    means, totals, squares = np.zeros(n_columns), np.zeros(len(blocks)), np.zeros(len(blocks))
    for sums, used, lengths in documents.map(_moments, blocks, documents.by_piece(sample_weight)):
        means += sums
        totals += used
        squares += lengths
    for number, at in enumerate(columns):  # sparse features have no sums: they are not centred, or would be dense
        squares[number] -= means[at] @ means[at] / max(totals[number], 1e-30)
        means[at] /= max(totals[number], 1e-30)
    squares = np.maximum(squares, 0) / sample_weight.sum()
    scales = np.empty(n_outputs)
    for output in range(n_outputs):
        seen = [number for number, block in enumerate(blocks) if block.output in (None, output)]
        seen_means = np.concatenate([means[columns[number]] for number in seen])
        scales[output] = scale_of(float(squares[seen].sum()), seen_means)
    return Layout(blocks, means, scales)


def _moments(
    piece: Piece, blocks: Sequence[Block], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64] | float, NDArray[np.float64], NDArray[np.float64]]:
    """Return sums over documents times their weights: of each column, of ones and of squared lengths for each block.

    Documents whose block is empty add nothing to any of them. With m = sums / ones, the squared lengths of the centred
    block add up to squares - ones · m². Sparse features have no sums of columns.
    """
    some = _at_places(blocks, piece.places)
    used = weights @ ~empty_blocks(piece, some)
    if all(map(is_sparse, some)):
        return 0.0, used, np.array([weights @ _squared_lengths(sparse_block(piece, block)) for block in some])
    sums, squares = np.zeros(column_starts(blocks)[-1]), np.zeros(len(blocks))
    for chunk in chunks(len(piece)):
        vectors = document_vectors(piece.rows(np.arange(chunk.start, chunk.stop)), some, threads=1).astype(np.float64)
        sums += weights[chunk] @ vectors
        of_columns = weights[chunk] @ np.square(vectors, out=vectors)
        squares += [of_columns[columns].sum() for columns in columns_of_blocks(some)]
    return sums, used, squares


def _squared_lengths(matrix: sp.csr_array) -> NDArray[np.float64]:
    squares = sp.csr_array((matrix.data * matrix.data, matrix.indices, matrix.indptr), matrix.shape)
    return np.asarray(squares.sum(axis=1), np.float64)


def whole_piece(documents: Documents) -> Piece:
    """Return documents in memory as a piece that holds all terms."""
    known = in_memory(documents)
    return Piece(known.matrix, known.lengths, np.arange(known.matrix.shape[1]))
