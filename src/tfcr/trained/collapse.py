"""From the blocks and coefficients of a trained head to the word table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from tfcr.features.blocks import AVERAGINGS, Block, PieceVectors, as_floats, column_starts, is_centred
from tfcr.heads.base import FittedHead
from tfcr.text.documents import CountedDocuments
from tfcr.trained.packing import LoosePieces, LooseTable, pack
from tfcr.trained.word_table import WordTable


def collapse(
    documents: CountedDocuments, sample_weight: NDArray[np.float64], blocks: Sequence[Block], fitted: FittedHead
) -> WordTable:
    """Multiply weights, vectors and coefficients into one table.

    An average by weights is centred in the table itself: the contribution of a term is how far its vector leads away
    from the average training document, the intercept is that document's score, and an empty block adds nothing. A sum
    or an average by length cannot be centred so: its mean goes into the intercept.
    """
    n_terms, n_outputs = len(documents.vocabulary), len(fitted.intercepts)
    intercepts = fitted.intercepts.copy()
    scores, divisor_weights = _Columns(n_terms), _Columns(n_terms)
    pieces = []
    for block, start in zip(blocks, column_starts(blocks), strict=False):
        # block by block: weight · ⟨vector, coefficients⟩ of every term, for the outputs that see the block
        seen = list(range(n_outputs)) if block.output is None else [block.output]
        coefficients = fitted.coefficients[start : start + block.dimensions, seen]
        offsets = fitted.means[start : start + block.dimensions] @ coefficients
        along = coefficients if block.vectors is None else block.vectors @ coefficients.astype(np.float32)
        weights = AVERAGINGS[block.averaging].divisor_weights(block.weights)
        divisor = divisor_weights.add(_divisor_key(block), weights, once=True)
        columns = []
        for number, output in enumerate(seen):
            centre = offsets[number] if is_centred(block) else 0
            columns.append(scores.add((output, divisor), block.weights * (along[:, number] - centre)))
        if block.pieces is not None:
            pieces.append(_collapse_pieces(block.pieces, coefficients, columns, divisor))
        if not is_centred(block):
            intercepts[seen] -= offsets
    loose = LooseTable(
        vocabulary=documents.vocabulary,
        scores=scores.matrix(),
        outputs=np.array([output for output, _ in scores.numbers]),
        divisors=np.array([divisor for _, divisor in scores.numbers]),
        divisor_weights=divisor_weights.matrix(),
        averagings=tuple(averaging for averaging, _ in divisor_weights.numbers),
        typical=np.zeros(len(divisor_weights.numbers), np.float32),
        frequencies=_mean_rows(documents.matrix, sample_weight),
        intercepts=intercepts,
        pieces=tuple(pieces),
    )
    return pack(replace(loose, typical=_typical_divisors(loose, documents, sample_weight)))


def _typical_divisors(
    loose: LooseTable, documents: CountedDocuments, sample_weight: NDArray[np.float64]
) -> NDArray[np.float32]:
    """Return the mean of each divisor over the training documents; (n_divisors,)."""
    counts = as_floats(documents.matrix)
    typical = np.empty(len(loose.averagings), np.float32)
    for name in set(loose.averagings):
        averaging = AVERAGINGS[name]
        numbers = np.flatnonzero(np.array(loose.averagings) == name)
        weights = loose.divisor_weights[:, numbers]
        divisors = averaging.divisors(averaging.counts(counts), weights, documents.lengths)
        typical[numbers] = np.average(divisors, axis=0, weights=sample_weight)
    return typical


def _collapse_pieces(
    found: PieceVectors, coefficients: NDArray[np.float64], columns: list[int], divisor: int
) -> LoosePieces:
    """Return what the pieces of a block add; pieces without weight are left out."""
    kept = np.flatnonzero(found.weights)
    weights = found.weights[kept]
    along = coefficients[kept] if found.vectors is None else found.vectors[kept] @ coefficients.astype(np.float32)
    return LoosePieces(
        pieces=found.pieces.take(kept),
        scores=(weights[:, None] * along).astype(np.float32),
        columns=np.array(columns),
        divisor=divisor,
        divisor_weights=weights * weights,
    )


def _divisor_key(block: Block) -> tuple[str, int]:
    """Return what blocks with the same divisor have in common: the averaging and, if it uses them, the weights."""
    return block.averaging, id(block.weights) if AVERAGINGS[block.averaging].weights else 0


def _mean_rows(matrix: sp.csr_array, sample_weight: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.asarray((matrix.T @ sample_weight) / sample_weight.sum(), np.float32)


class _Columns:
    """Builds a sparse matrix column by column; values of columns with the same key are added up.

    The values (0, 3, 4) of the key "a", (5, 0, 0) of "b" and (0, 1, 0) of "a" again are kept as rows and values of the
    columns 0: [1, 2] [3, 4] and [1] [1], 1: [0] [5], which stand one after the other in the matrix.
    """

    def __init__(self, n_terms: int) -> None:
        self.n_terms = n_terms
        self.numbers: dict[Any, int] = {}
        self.rows: list[list[NDArray[np.int32]]] = []
        self.values: list[list[NDArray[np.float32]]] = []

    def add(self, key: Any, values: NDArray[Any], *, once: bool = False) -> int:
        """Add values to the column of that key (`once`: only if it is new), and return its number."""
        new = key not in self.numbers
        number = self.numbers.setdefault(key, len(self.numbers))
        if new:
            self.rows.append([])
            self.values.append([])
        if new or not once:
            rows = np.flatnonzero(values)
            self.rows[number].append(rows.astype(np.int32))
            self.values[number].append(values[rows].astype(np.float32))
        return number

    def matrix(self) -> sp.csr_array:
        """Return the matrix, and forget the columns: with many terms and classes, a second copy would not fit."""
        sizes = [sum(map(len, rows)) for rows in self.rows]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        indices = np.concatenate([rows for column in self.rows for rows in column])
        self.rows.clear()
        values = np.concatenate([some for column in self.values for some in column])
        self.values.clear()
        matrix = sp.csc_array((values, indices, starts), shape=(self.n_terms, len(self.numbers))).tocsr()
        matrix.sum_duplicates()
        return matrix
